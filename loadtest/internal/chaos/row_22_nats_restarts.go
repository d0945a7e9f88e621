package chaos

import (
	"context"
	"time"

	"sluice/shared/devstack"
)

// natsRestarts: what was being handed over may have arrived, or not.
func natsRestarts() Row {
	return Row{
		ID: "22", Name: "nats-restarts", Short: true, Bound: 20 * time.Second,
		Fault:  "NATS is killed and comes back with its data",
		Expect: "hand-overs whose outcome is not known stay listed, and are handed over again",
		Run: func(ctx context.Context, r *Round) error {
			if err := r.begin(ctx, killUnits, killRate); err != nil {
				return err
			}
			var n int64
			r.inject()
			err := r.stack.Restart(ctx, "nats", (*devstack.Server).Kill, func(*devstack.Server) (err error) {
				n, err = r.refused(ctx, 20)
				return err
			})
			if err != nil {
				return err
			}
			r.heal()
			r.hit(int(n), "%d attempts were answered 503 with their tickets", n)
			return r.recovered(ctx)
		},
	}
}
