package devstack

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
)

// initdbArgs make a cluster without passwords; C.UTF-8 sorts by code point, the
// same on every machine.
var initdbArgs = []string{"--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8"}

// makeDataDir makes the Postgres data directory dir. initdb takes seconds, so its
// result is kept as a template, and copied.
func makeDataDir(ctx context.Context, install postgresInstall, acc account, dir string) error {
	template, err := postgresTemplate(ctx, install, acc)
	if err != nil {
		return err
	}
	if err := acc.reach(dir); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("cannot make Postgres's data directory: %w", err)
	}
	if err := acc.own(dir); err != nil {
		return err
	}
	return run(acc.runs(exec.CommandContext(ctx, "cp", "-R", template+"/.", dir)))
}

// postgresTemplate returns the data directory that initdb made for this version and
// these arguments. A lock lets one process make it; a rename makes it appear whole,
// so that one that was interrupted is never used.
func postgresTemplate(ctx context.Context, install postgresInstall, acc account) (string, error) {
	version, err := exec.CommandContext(ctx, install.postgres, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("cannot ask %s for its version: %w", install.postgres, err)
	}
	cache, err := templateCache()
	if err != nil {
		return "", err
	}
	key := sha256.Sum256(fmt.Append(nil, string(version), install, initdbArgs))
	name := fmt.Sprintf("postgres-%x", key[:8])
	template := filepath.Join(cache, name, "data")
	unlock, err := lockFile(filepath.Join(cache, name+".lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(template); err == nil {
		return template, nil
	}
	return template, makeTemplate(ctx, install, acc, filepath.Dir(template))
}

// makeTemplate runs initdb in a new directory and renames it to home.
func makeTemplate(ctx context.Context, install postgresInstall, acc account, home string) error {
	building := home + ".building"
	if err := os.RemoveAll(building); err != nil {
		return fmt.Errorf("cannot remove an unfinished Postgres template: %w", err)
	}
	data := filepath.Join(building, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return fmt.Errorf("cannot make a Postgres template: %w", err)
	}
	if err := errors.Join(acc.reach(data), acc.own(data)); err != nil {
		return err
	}
	if err := run(acc.runs(exec.CommandContext(ctx, install.initdb, append(slices.Clone(initdbArgs), "-D", data)...))); err != nil {
		return err
	}
	if err := os.Rename(building, home); err != nil {
		return fmt.Errorf("cannot keep the Postgres template: %w", err)
	}
	return nil
}

// templateCache returns this user's cache in the temp dir, where user postgres can
// reach it. Somebody else's directory of that name is refused: whoever owns it could
// plant a database.
func templateCache() (string, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("sluice-cache-%d", os.Geteuid()))
	if err := os.Mkdir(dir, 0o711); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("cannot make a cache for the Postgres template: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", fmt.Errorf("cannot use the cache for the Postgres template: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(stat.Uid) != os.Geteuid() {
		return "", fmt.Errorf("cannot use %s as a cache: it is not this user's directory", dir)
	}
	return dir, nil
}

// lockFile waits for the exclusive lock on path.
func lockFile(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open a lock: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, fmt.Errorf("cannot lock %s: %w", path, errors.Join(err, file.Close()))
	}
	return func() { _ = file.Close() }, nil
}

// run runs cmd; what it printed is in the error.
func run(cmd *exec.Cmd) error {
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot run %s: %w: %s", cmd.Path, err, output)
	}
	return nil
}
