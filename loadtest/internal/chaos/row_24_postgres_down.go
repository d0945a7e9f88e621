package chaos

import (
	"context"
	"time"

	"sluice/loadtest/internal/wait"
	"sluice/shared/devstack"
)

// postgresDown: the gate has no business with it.
func postgresDown() Row {
	const down = 60 * time.Second
	return Row{
		ID: "24", Name: "postgres-down", Bound: 30 * time.Second,
		Fault:  "Postgres is down for 60 s",
		Expect: "attempts are accepted on, nothing becomes a dead letter, the backlog drains by itself",
		Run: func(ctx context.Context, r *Round) error {
			if err := r.begin(ctx, killUnits, killRate/2); err != nil {
				return err
			}
			var before, during int64
			r.inject()
			err := r.stack.Restart(ctx, "postgres", (*devstack.Server).Kill, func(*devstack.Server) error {
				before = r.load.accepted.Load()
				wait.For(ctx, down)
				during = r.load.accepted.Load() - before
				return ctx.Err()
			})
			if err != nil {
				return err
			}
			r.heal()
			r.hit(int(during), "%d attempts were accepted while it was down", during)
			return r.recovered(ctx)
		},
	}
}
