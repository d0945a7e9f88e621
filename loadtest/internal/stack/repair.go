package stack

import (
	"context"
	"errors"
	"fmt"

	"sluice/shared/devstack"
)

// Restart ends a store, "redis", "nats" or "postgres", by end, such as
// (*devstack.Server).Stop or Kill, does what is to be done to its data while it is
// down, and returns once it answers again under the same URL. The rest of the stack
// runs on.
func (s *Stack) Restart(ctx context.Context, store string, end func(*devstack.Server) error, between func(*devstack.Server) error) error {
	server, err := s.store(store)
	if err != nil {
		return err
	}
	defer s.repair(store)()
	if err := end(server); err != nil {
		return err
	}
	failed := between(server)
	return errors.Join(failed, server.Restart(ctx), s.announce())
}

// StopWorkers ends every worker with SIGKILL and keeps it down until start is called,
// which must be, and returns once each was started, with env for that run. The rest of the
// stack runs on.
func (s *Stack) StopWorkers() (start func(env ...string) error, err error) {
	var dones []func()
	var errs []error
	workers := s.allWorkers()
	for _, c := range workers {
		dones = append(dones, s.repair(c.name))
		errs = append(errs, c.Kill())
	}
	return func(env ...string) error {
		var errs []error
		for i, c := range workers {
			errs = append(errs, c.restartWith(env))
			dones[i]()
		}
		return errors.Join(append(errs, s.announce())...)
	}, errors.Join(errs...)
}

// repair makes the caller the only one who starts a process again, until it calls done.
func (s *Stack) repair(name string) (done func()) {
	lock := s.repairs[name]
	lock.Lock()
	return lock.Unlock
}

// down waits until nobody has the process down for a repair, and reports whether it
// is to be started then.
func (s *Stack) down(name string, m member) bool {
	defer s.repair(name)()
	return ended(m)
}

func ended(m interface{ Exited() <-chan struct{} }) bool {
	select {
	case <-m.Exited():
		return true
	default:
		return false
	}
}

func (s *Stack) store(name string) (*devstack.Server, error) {
	server, ok := s.stores.servers()[name]
	if !ok {
		return nil, fmt.Errorf("the stack has no store %q that is one server", name)
	}
	return server, nil
}
