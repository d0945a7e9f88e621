package chaos

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/wait"
	"sluice/shared/jetqueue"
)

// lateAcknowledgement: two workers have the same hand-over, and the first does not know.
func lateAcknowledgement() Row {
	const stopped = 15 * time.Second // longer than JetStream waits for an acknowledgement
	return Row{
		ID: "9", Name: "late-acknowledgement", Bound: 30 * time.Second,
		Fault:  fmt.Sprintf("a worker stands still for %s with hand-overs in its hands, and goes on with them", stopped),
		Expect: "another worker has made their orders meanwhile; the row arbitrates; the stock moves once",
		Run: func(ctx context.Context, r *Round) error {
			if err := r.begin(ctx, killUnits, killRate); err != nil {
				return err
			}
			halted := r.random.IntN(workers)
			before, err := r.redelivered(ctx, 1-halted)
			if err != nil {
				return err
			}
			pid := r.stack.Info().Workers[halted].PID
			r.inject()
			if err := r.stopHolding(ctx, pid); err != nil {
				return err
			}
			wait.For(ctx, stopped)
			if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
				return fmt.Errorf("cannot let worker go on: %w", err)
			}
			r.heal()
			after, err := r.redelivered(ctx, 1-halted)
			if err != nil {
				return err
			}
			r.hit(int(after-before), "%.0f hand-overs came to the other worker meanwhile", after-before)
			return r.recovered(ctx)
		},
	}
}

// stopHolding has a worker stand still at a moment at which it has hand-overs in its hands:
// between two of them it has none.
func (r *Round) stopHolding(ctx context.Context, pid int) error {
	js, hangUp, err := r.jetStream()
	if err != nil {
		return err
	}
	defer hangUp()
	var fault error
	err = r.until(ctx, hitPatience, "the worker stands still with hand-overs in its hands", func() bool {
		if fault = syscall.Kill(pid, syscall.SIGSTOP); fault != nil {
			return true
		}
		var held bool
		if held, fault = r.holdsOn(ctx, js); held {
			return true
		}
		fault = errors.Join(fault, syscall.Kill(pid, syscall.SIGCONT))
		return fault != nil
	})
	if err := errors.Join(err, fault); err != nil {
		return fmt.Errorf("cannot stop worker: %w", err)
	}
	return nil
}

// holdsOn reports whether at every look of a second hand-overs of the sale are in somebody's
// hands: those of a worker that goes on are settled within less.
func (r *Round) holdsOn(ctx context.Context, js jetstream.JetStream) (bool, error) {
	for range 20 {
		consumer, err := js.Consumer(ctx, jetqueue.StreamName, r.saleID)
		if err != nil {
			return false, fmt.Errorf("cannot read what is in hand: %w", err)
		}
		if consumer.CachedInfo().NumAckPending == 0 {
			return false, nil
		}
		if !wait.For(ctx, 50*time.Millisecond) {
			return false, ctx.Err()
		}
	}
	return true, nil
}

// redelivered is how many hand-overs a worker was given that another had had.
func (r *Round) redelivered(ctx context.Context, worker int) (float64, error) {
	w, err := collect.ReadWorker(ctx, r.stack.Info().Workers[worker].AdminURL)
	return w.Redelivered, err
}
