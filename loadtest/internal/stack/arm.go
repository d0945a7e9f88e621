package stack

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"sluice/shared/failpoint"
)

// Arm starts a gateway or a worker again with failpoints, none if "", such as
// "worker.after_commit=kill@3", for one run, and returns once it is ready, or has met
// one already. It finishes what it has in hand before. died is closed when it has ended; its
// successor has no failpoints.
func (s *Stack) Arm(ctx context.Context, role string, index int, failpoints string) (died <-chan struct{}, err error) {
	c, err := s.child(role, index)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	defer s.repair(c.name)()
	if err := c.current().Stop(syscall.SIGTERM, c.grace); err != nil {
		return nil, err
	}
	if err := c.restartWith([]string{failpoint.Variable + "=" + failpoints}); err != nil {
		return nil, err
	}
	armed := c.current()
	err = poll(ctx, func() error {
		if ended(armed) {
			return nil
		}
		return c.ready(ctx)
	})
	return armed.Exited(), errors.Join(err, s.announce())
}

func (s *Stack) child(role string, index int) (*child, error) {
	all := map[string][]*child{"gateway": s.allGateways(), "worker": s.allWorkers()}[role]
	if index < 0 || index >= len(all) {
		return nil, fmt.Errorf("the stack has no %s %d", role, index)
	}
	return all[index], nil
}
