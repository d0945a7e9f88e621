package stack

import (
	"context"
	"errors"
)

// HaltAll halts processes at the same time. They go on with resume, which is to be called
// whatever became of it, and may be more than once.
func HaltAll(ctx context.Context, pids ...int) (resume func() error, err error) {
	halters := make([]*Halter, len(pids))
	halted := make(chan error, len(pids))
	for i, pid := range pids {
		halters[i] = &Halter{PID: pid}
		go func() { halted <- halters[i].Halt(ctx) }()
	}
	for range halters {
		err = errors.Join(err, <-halted)
	}
	return func() error {
		var errs []error
		for _, h := range halters {
			errs = append(errs, h.Resume())
		}
		return errors.Join(errs...)
	}, err
}
