package chaos

import (
	"context"
	"errors"
)

// armed is a process that was started with failpoints, and has them until it dies.
type armed struct {
	role  string
	index int
	died  <-chan struct{}
}

// arm has a process start again with failpoints, at most until the row has run.
func (r *Round) arm(ctx context.Context, role string, index int, failpoints string) (died <-chan struct{}, err error) {
	died, err = r.stack.Arm(ctx, role, index, failpoints)
	if died != nil {
		r.armed = append(r.armed, armed{role, index, died})
	}
	return died, err
}

// disarm has whoever has not died of its failpoints start again without: other rows share
// the stack.
func (r *Round) disarm(ctx context.Context) (err error) {
	for _, a := range r.armed {
		select {
		case <-a.died:
		default:
			_, failed := r.stack.Arm(ctx, a.role, a.index, "")
			err = errors.Join(err, failed)
		}
	}
	r.armed = nil
	return err
}

// dead waits until a process has died of its failpoints.
func (r *Round) dead(ctx context.Context, died <-chan struct{}) error {
	return r.until(ctx, hitPatience, "the process has died of its failpoint", func() bool { return allClosed([]<-chan struct{}{died}) })
}
