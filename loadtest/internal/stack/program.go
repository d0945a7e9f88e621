package stack

import (
	"context"
	"errors"
	"path/filepath"
	"syscall"
)

// SetProgram has a gateway or a worker run the program in another directory from now on,
// such as one that is older, and returns once it is ready; at once if it does so already. It
// finishes what it has in hand before. "" is the stack's own directory.
func (s *Stack) SetProgram(ctx context.Context, role string, index int, binDir string) error {
	c, err := s.child(role, index)
	if err != nil {
		return err
	}
	if binDir == "" {
		binDir = s.config.BinDir
	}
	path := filepath.Join(binDir, role)
	if c.program() == path {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	defer s.repair(c.name)()
	if err := c.current().Stop(syscall.SIGTERM, c.grace); err != nil {
		return err
	}
	c.setProgram(path)
	if err := c.Restart(ctx); err != nil {
		return err
	}
	return errors.Join(c.awaitFirst(ctx), s.announce())
}
