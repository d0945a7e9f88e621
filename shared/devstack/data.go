package devstack

import (
	"fmt"
	"os/exec"
)

// DataDir returns the directory of the server's data alone, without its log.
func (s *Server) DataDir() string { return s.data }

// CopyData copies the data of an ended server to a directory that does not exist
// yet, owners and modes included.
func (s *Server) CopyData(to string) error {
	if err := s.mustHaveEnded("copy the data of"); err != nil {
		return err
	}
	return run(exec.Command("cp", "-a", s.data, to))
}

// PutData replaces the data of an ended server by a copy that CopyData made, which
// stays: the next Restart serves it under the same URL.
func (s *Server) PutData(from string) error {
	if err := s.WipeData(); err != nil {
		return err
	}
	return run(exec.Command("cp", "-a", from, s.data))
}

// WipeData removes the data of an ended server. Redis and NATS start empty then;
// Postgres does not start until PutData.
func (s *Server) WipeData() error {
	if err := s.mustHaveEnded("remove the data of"); err != nil {
		return err
	}
	if err := removeUntilGone(s.data); err != nil {
		return fmt.Errorf("cannot remove the data of %s: %w", s.name, err)
	}
	return nil
}

func (s *Server) mustHaveEnded(verb string) error {
	select {
	case <-s.Exited():
		return nil
	default:
		return fmt.Errorf("cannot %s %s: it is running", verb, s.name)
	}
}
