package chaos

import (
	"context"
	"time"
)

// StoresDieInTurn is what a cluster is for: each store loses the server that works.
func StoresDieInTurn() Row {
	return Row{
		ID: "44", Name: "stores-die-in-turn", Bound: 30 * time.Second, Stack: clustered,
		Fault:  "the Redis master that has the sale, the NATS server that leads the stream of hand-overs and the Postgres primary are killed in turn; each store is whole again before the next one is hit",
		Expect: "another server takes over; attempts go on after seconds, and while Postgres fails over they are accepted; everything that was answered 202 gets its order",
		Run: func(ctx context.Context, r *Round) error {
			if err := r.begin(ctx, clusterUnits, clusterRate); err != nil {
				return err
			}
			r.inject()
			for _, turn := range []struct {
				of   string
				kill func(context.Context) error
			}{{"a Redis master", r.killMaster}, {"the NATS leader", r.killLeader}, {"the Postgres primary", r.killPrimary}} {
				killed := r.journal.Now()
				if err := turn.kill(ctx); err != nil {
					return err
				}
				if err := r.goesOnAfter(ctx); err != nil {
					return err
				}
				r.paused(ctx, turn.of, killed)
			}
			return nil
		},
	}
}
