package chaos

import (
	"context"
	"time"
)

// workerDiesAfterCommit: the orders are there, their tickets and messages do not know.
func workerDiesAfterCommit() Row {
	return Row{
		ID: "8", Name: "worker-dies-after-commit", Bound: 30 * time.Second,
		Fault:  "a worker is killed after it has committed a batch, once before it shows it and once before it acknowledges it",
		Expect: "the batch is delivered again, known, shown and acknowledged; the stock moves once",
		Run: func(ctx context.Context, r *Round) error {
			if err := r.killedAt(ctx, "worker", 0, "worker.after_commit", false); err != nil {
				return err
			}
			return r.killAgainAt(ctx, "worker", 1, "worker.before_ack")
		},
	}
}
