package stack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// announce writes where everything is now, once the start is complete.
func (s *Stack) announce() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.announced {
		return nil
	}
	return s.Info().write(s.config.OutDir, s.ticketKey, s.natsMonitors())
}

// withdraw removes the announcement; without the lock it is somebody else's.
func (s *Stack) withdraw() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.announced = false
	if s.lock == nil {
		return nil
	}
	return removeAnnouncement(s.config.OutDir)
}

func removeAnnouncement(dir string) error {
	for _, name := range []string{InfoFile, EnvFile} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("cannot remove the announcement: %w", err)
		}
	}
	return nil
}

// Hold makes dir a run's own, with stacks in directories below, until it is released.
func Hold(dir string) (release func() error, err error) {
	lock, err := lockOutDir(dir)
	if err != nil {
		return nil, err
	}
	return lock.Close, nil
}

// lockOutDir makes dir this stack's own, and removes what a killed one left there.
func lockOutDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("cannot make the output directory: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot use the output directory: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another stack runs with the output directory %s: name another -out", dir), lock.Close())
	}
	if err := removeAnnouncement(dir); err != nil { // of a killed stack
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}
