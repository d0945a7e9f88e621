package chaos

import (
	"context"
	"time"

	"sluice/loadtest/internal/collect"
)

// workerDiesBeforeCommit: the batch never happened, and comes again.
func workerDiesBeforeCommit() Row {
	return Row{
		ID: "7", Name: "worker-dies-before-commit", Short: true, Bound: 30 * time.Second,
		Fault:  "a worker is killed before it commits a batch of orders",
		Expect: "the batch is delivered again: one row each; nothing has to be looked for",
		Run: func(ctx context.Context, r *Round) error {
			killed := r.random.IntN(workers)
			before, err := r.lostUntilNow(ctx)
			if err != nil {
				return err
			}
			if err := r.killedAt(ctx, "worker", killed, "worker.before_commit", false); err != nil {
				return err
			}
			now, err := r.lostUntilNow(ctx)
			if err != nil {
				return err
			}
			before[killed] = 0 // its successor counts anew
			for i := range workers {
				if lost := now[i] - before[i]; lost > 0 {
					r.fail("I3", "%.0f reservations had no hand-over any more and no order: worker-%d found them in Redis, as long as it had them", lost, i)
				}
			}
			return nil
		},
	}
}

// lostUntilNow is how many reservations each worker has handed over again because no
// hand-over would have brought them any more.
func (r *Round) lostUntilNow(ctx context.Context) (lost [workers]float64, err error) {
	for i := range workers {
		w, err := collect.ReadWorker(ctx, r.stack.Info().Workers[i].AdminURL)
		if err != nil {
			return lost, err
		}
		lost[i] = w.Lost
	}
	return lost, nil
}
