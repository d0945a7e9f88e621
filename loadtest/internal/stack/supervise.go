package stack

import (
	"context"
	"time"
)

// How soon what died starts again: at once at first, slower while it keeps dying
// young.
const (
	firstBackoff = 100 * time.Millisecond
	lastBackoff  = 3 * time.Second
	livedLong    = 10 * time.Second
)

// member is whatever runs in the stack and may die: a store or a child.
type member interface {
	PID() int
	Exited() <-chan struct{}
	Kill() error
	Restart(ctx context.Context) error
}

// supervise starts m again whenever it ends, until ctx does.
func (s *Stack) supervise(ctx context.Context, name string, m member) {
	backoff := firstBackoff
	for {
		started := time.Now()
		select {
		case <-ctx.Done():
			return
		case <-m.Exited():
		}
		if time.Since(started) > livedLong {
			backoff = firstBackoff
		}
		if !s.down(name, m) {
			continue // Restart had it down, and up again
		}
		s.log.WarnContext(ctx, "process ended and will start again", "process", name, "pid", m.PID(), "backoff", backoff)
		select {
		case <-ctx.Done():
			return
		case <-time.After(backoff):
		}
		backoff = min(2*backoff, lastBackoff)
		s.restart(ctx, name, m)
	}
}

// restart leaves m ended if it cannot be started; the next round tries again.
func (s *Stack) restart(ctx context.Context, name string, m member) {
	defer s.repair(name)()
	if !ended(m) {
		return
	}
	if err := m.Restart(ctx); err != nil {
		s.log.ErrorContext(ctx, "process does not start", "process", name, "error", err)
		return
	}
	if err := s.announce(); err != nil {
		s.log.ErrorContext(ctx, "stack cannot be announced", "error", err)
	}
	s.log.InfoContext(ctx, "process started again", "process", name, "pid", m.PID())
}
