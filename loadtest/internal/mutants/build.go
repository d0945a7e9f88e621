package mutants

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// programs are those that a stack runs.
var programs = []string{"gateway", "worker", "warmup"}

// Build builds the programs of a stack from the sources at src, as the named mutation
// makes them, into binDir, which is made if missing. src is left as it is.
func Build(ctx context.Context, src, name, binDir string) error {
	// With a relative path the go command would look below src.
	src, err := filepath.Abs(src)
	if err != nil {
		return fmt.Errorf("cannot build mutation %s: %w", name, err)
	}
	if binDir, err = filepath.Abs(binDir); err != nil {
		return fmt.Errorf("cannot build mutation %s: %w", name, err)
	}
	m, edited, err := find(src, name)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "sluice-mutant-")
	if err != nil {
		return fmt.Errorf("cannot build mutation %s: %w", name, err)
	}
	defer os.RemoveAll(scratch) // below the temporary directory anyway
	overlay, err := writeOverlay(scratch, edited)
	if err != nil {
		return fmt.Errorf("cannot build mutation %s: %w", name, err)
	}
	if err := os.MkdirAll(binDir, 0o755); err != nil {
		return fmt.Errorf("cannot build mutation %s: %w", name, err)
	}
	return build(ctx, m, src, overlay, binDir)
}

// Check finds what can be known before the named mutation is built from the sources at src.
func Check(src, name string) error {
	_, _, err := find(src, name)
	return err
}

// find returns a mutation, and the files that it changes at src, as they are then.
func find(src, name string) (m Mutation, edited map[string]string, err error) {
	if m, err = Find(name); err != nil {
		return m, nil, err
	}
	if _, err := os.Stat(filepath.Join(src, "go.work")); err != nil {
		return m, nil, fmt.Errorf("cannot build mutation %s: %s is not the root of Sluice's sources: name it with -src: %w", name, src, err)
	}
	edited, err = m.Apply(src)
	return m, edited, err
}

// build uses the flags of make build, so that it shares all that is not edited with it.
func build(ctx context.Context, m Mutation, src, overlay, binDir string) error {
	args := []string{"build", "-trimpath", "-buildvcs=false", "-overlay", overlay, "-o", binDir + string(filepath.Separator)}
	for _, program := range programs {
		args = append(args, "./"+program)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = src
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build mutation %s: %w: %s", m.Name, err, strings.TrimSpace(string(said)))
	}
	return nil
}

// writeOverlay writes the edited files to dir, and beside them the file that has the go
// command read them in place of the others, whose path it returns.
func writeOverlay(dir string, edited map[string]string) (path string, err error) {
	replace := make(map[string]string, len(edited))
	for original, text := range edited {
		copied := filepath.Join(dir, fmt.Sprintf("%d-%s", len(replace), filepath.Base(original)))
		if err := os.WriteFile(copied, []byte(text), 0o644); err != nil {
			return "", err
		}
		replace[original] = copied
	}
	content, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, content, 0o644)
}
