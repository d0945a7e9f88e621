package earlier

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// programs are what is built.
var programs = []string{"gateway", "worker"}

// Build builds the earlier programs out of the clone at src, unless they are there already,
// and returns the commit and the directory with them, which is below binDir. It is the commit
// pinned, or the newest tag after it.
func Build(ctx context.Context, src, binDir, pinned string) (c Commit, dir string, err error) {
	if c, err = find(ctx, src, pinned); err != nil {
		return c, "", err
	}
	dir, err = filepath.Abs(filepath.Join(binDir, "earlier", c.Hash))
	if err != nil {
		return c, "", fmt.Errorf("cannot build earlier programs: %w", err)
	}
	if _, err := os.Stat(dir); err == nil {
		return c, dir, nil // it was renamed into its place when it was complete
	}
	return c, dir, build(ctx, src, c, dir)
}

// build builds a commit into a directory that is there at once, with all programs, or not.
func build(ctx context.Context, src string, c Commit, dir string) (err error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("cannot build earlier programs: %w", err)
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), ".build-")
	if err != nil {
		return fmt.Errorf("cannot build earlier programs: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	tree, built := filepath.Join(work, "src"), filepath.Join(work, "bin")
	if err := unpack(ctx, src, c, tree); err != nil {
		return err
	}
	args := []string{"build", "-trimpath", "-buildvcs=false", "-o", built + string(filepath.Separator)}
	for _, program := range programs {
		args = append(args, "./"+program)
	}
	compile := exec.CommandContext(ctx, "go", args...)
	compile.Dir, compile.Env = tree, append(os.Environ(), "CGO_ENABLED=0", "GOWORK=")
	if out, err := compile.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build the programs of commit %s: %w: %s", c.Name, err, out)
	}
	err = os.Rename(built, dir)
	if _, there := os.Stat(dir); err != nil && there != nil { // else somebody else was faster
		return fmt.Errorf("cannot build earlier programs: %w", err)
	}
	return nil
}

// unpack writes the files of a commit to dir. The clone's own files are left alone.
func unpack(ctx context.Context, src string, c Commit, dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("cannot unpack commit %s: %w", c.Name, err)
	}
	archive := dir + ".tar"
	if _, err := git(ctx, src, "archive", "--format=tar", "--output", archive, c.Hash); err != nil {
		return fmt.Errorf("cannot unpack commit %s: %w", c.Name, err)
	}
	if out, err := exec.CommandContext(ctx, "tar", "-xf", archive, "-C", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("cannot unpack commit %s: %w: %s", c.Name, err, out)
	}
	return nil
}
