package devstack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// tempPrefix begins the name of every directory made here.
const tempPrefix = "sluice-devstack-"

// tempGrace is how old an unlocked directory must be to count as left behind: its
// maker locks it a moment after making it.
const tempGrace = time.Minute

// tempDir is a directory in the temp dir, locked while its maker lives, so that those
// of killed processes can be told and removed.
type tempDir struct {
	path string
	lock *os.File
}

// newTempDir also removes what killed processes left behind.
func newTempDir() (*tempDir, error) {
	removeLeftovers(os.TempDir(), time.Now().Add(-tempGrace))
	path, err := os.MkdirTemp("", tempPrefix)
	if err != nil {
		return nil, fmt.Errorf("cannot make a directory for servers: %w", err)
	}
	lock, err := lockDir(path)
	if err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	return &tempDir{path: path, lock: lock}, nil
}

func (d *tempDir) remove() error { return errors.Join(os.RemoveAll(d.path), d.lock.Close()) }

// removeLeftovers removes the unlocked directories last changed before old. One that
// cannot be removed, another user's say, is no reason not to start.
func removeLeftovers(parent string, old time.Time) {
	paths, _ := filepath.Glob(filepath.Join(parent, tempPrefix+"*")) // errors only on a bad pattern
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() || info.ModTime().After(old) {
			continue
		}
		if lock, err := lockDir(path); err == nil {
			_ = os.RemoveAll(path)
			_ = lock.Close()
		}
	}
}

// lockDir fails when another process, or this one, holds the lock.
func lockDir(path string) (*os.File, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot open a directory for servers: %w", err)
	}
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot lock %s: %w", path, err), dir.Close())
	}
	return dir, nil
}
