package stack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
)

// StartWorker starts one more worker, with settings such as "SLUICE_CONSUMERS=2", and
// returns its index in Info once it is ready. It is for one caller at a time.
func (s *Stack) StartWorker(ctx context.Context, settings ...string) (index int, err error) {
	index = len(s.allWorkers())
	if index >= maxProcesses {
		return 0, fmt.Errorf("cannot start a worker: the stack has %d", index)
	}
	c := s.newChild("worker", index, workerGrace, s.proxiedInfo().workerEnv())
	c.set(settings)
	if err := c.reserve(); err != nil {
		return 0, errors.Join(err, c.close())
	}
	if err := c.Restart(ctx); err != nil {
		return 0, errors.Join(err, c.close())
	}
	s.growing.Lock()
	s.workers = append(s.workers, c)
	s.growing.Unlock()
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := c.awaitFirst(ctx); err != nil {
		return 0, err
	}
	s.watch(c.name, c)
	return index, s.announce()
}

// SetWorker starts a worker again with settings, such as "SLUICE_CONSUMERS=2", in the
// place of those that it had, and returns once it is ready. The worker finishes what it
// has in hand.
func (s *Stack) SetWorker(ctx context.Context, index int, settings ...string) error {
	workers := s.allWorkers()
	if index < 0 || index >= len(workers) {
		return fmt.Errorf("cannot set worker %d: the stack has %d", index, len(workers))
	}
	c := workers[index]
	c.set(settings)
	defer s.repair(c.name)()
	if err := c.current().Stop(syscall.SIGTERM, workerGrace); err != nil {
		return err
	}
	if err := c.Restart(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return errors.Join(poll(ctx, func() error { return c.ready(ctx) }), s.announce())
}

func (s *Stack) allWorkers() []*child {
	s.growing.RLock()
	defer s.growing.RUnlock()
	return slices.Clone(s.workers)
}
