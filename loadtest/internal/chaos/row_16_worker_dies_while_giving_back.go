package chaos

import (
	"context"
	"time"
)

// workerDiesWhileGivingBack: Postgres has given a unit back, and Redis does not know, or
// the other way round.
func workerDiesWhileGivingBack() Row {
	return Row{
		ID: "16", Name: "worker-dies-while-giving-back", Bound: 30 * time.Second,
		Fault:  "a worker is killed once after the row of a release and before Redis has heard of it, and once after Redis has, before the row is marked",
		Expect: "each unit goes back once",
		Run: func(ctx context.Context, r *Round) error {
			if err := r.open(ctx, saleOf{units: killUnits, hold: 2 * time.Second}); err != nil {
				return err
			}
			r.attack(ctx, killRate)
			if err := r.accepting(ctx, 50); err != nil {
				return err
			}
			if err := r.killAgainAt(ctx, "worker", 0, "worker.expired"); err != nil {
				return err
			}
			return r.killAgainAt(ctx, "worker", 1, "worker.released_in_redis")
		},
	}
}
