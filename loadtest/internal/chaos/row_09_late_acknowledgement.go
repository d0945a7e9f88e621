package chaos

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/wait"
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
			if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
				return fmt.Errorf("cannot stop worker: %w", err)
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

// redelivered is how many hand-overs a worker was given that another had had.
func (r *Round) redelivered(ctx context.Context, worker int) (float64, error) {
	w, err := collect.ReadWorker(ctx, r.stack.Info().Workers[worker].AdminURL)
	return w.Redelivered, err
}
