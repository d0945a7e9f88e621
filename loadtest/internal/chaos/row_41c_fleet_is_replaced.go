package chaos

import (
	"context"
	"time"
)

// fleetIsReplaced is what a roll-out does to every process.
func fleetIsReplaced() Row {
	return Row{
		ID: "41c", Name: "fleet-is-replaced", Bound: 10 * time.Second, Stack: clustered,
		Fault:  "four gateways and four workers are asked to end (SIGTERM) under load and start again, one by one, behind a proxy with health checks; the stores are clusters",
		Expect: "every attempt is answered, and none 503; nothing that was answered 202 is lost",
		Run: func(ctx context.Context, r *Round) error {
			r.graceful = true
			from := r.journal.Now()
			defer r.routeByHealth(ctx)()
			if err := r.begin(ctx, clusterUnits, clusterRate); err != nil {
				return err
			}
			r.inject()
			for i, g := range r.stack.Info().Gateways {
				if _, _, err := r.endsUnready(ctx, "gateway", i, g.OpsURL); err != nil {
					return err
				}
			}
			for i, w := range r.stack.Info().Workers {
				if _, _, err := r.endsUnready(ctx, "worker", i, w.AdminURL); err != nil {
					return err
				}
			}
			r.heal()
			if err := r.recovered(ctx); err != nil {
				return err
			}
			r.wantUnnoticed(from, "programs were replaced")
			return nil
		},
	}
}
