package stack

import (
	"context"
	"fmt"
	"syscall"
	"time"
)

// A worker's last pull may be answered with a hand-over for as long as it lasts: one
// that a halted worker does not take comes again, but much later.
const pullsLapse = 1500 * time.Millisecond

// Halter halts a worker process, for as long as it would take CPU from what is measured
// or make orders of a backlog that is to be there first. It may be halted only at rest:
// then it holds no lock.
type Halter struct {
	PID    int
	halted bool
}

// Halt halts the process and returns once nothing is under way to it any more.
func (h *Halter) Halt(ctx context.Context) error {
	if err := syscall.Kill(h.PID, syscall.SIGSTOP); err != nil {
		return fmt.Errorf("cannot halt worker: %w", err)
	}
	h.halted = true
	timer := time.NewTimer(pullsLapse)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Resume lets the process go on, if it is halted.
func (h *Halter) Resume() error {
	if !h.halted {
		return nil
	}
	if err := syscall.Kill(h.PID, syscall.SIGCONT); err != nil {
		return fmt.Errorf("cannot resume worker: %w", err)
	}
	h.halted = false
	return nil
}
