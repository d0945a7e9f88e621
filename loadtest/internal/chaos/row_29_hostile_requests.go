package chaos

import (
	"context"
	"time"

	"sluice/loadtest/internal/hostile"
)

// hostileRequests: what makes no sense is refused before it is anything.
func hostileRequests() Row {
	return Row{
		ID: "29", Name: "hostile-requests", Bound: 10 * time.Second, Also: "I11 I12", Stack: Needs{Gateways: edgeSettings},
		Fault:  "gateways and workers are sent bodies of 1 B to 1 GB, bad JSON, NUL, long ids, users who cannot be, and doubled headers",
		Expect: "each is refused by a 4xx that says why; nothing of it is written",
		Run: func(ctx context.Context, r *Round) error {
			if err := r.begin(ctx, killUnits, killRate); err != nil {
				return err
			}
			gates, err := r.gatewayAddresses()
			if err != nil {
				return err
			}
			workers, err := r.workerAddresses()
			if err != nil {
				return err
			}
			target, err := r.stranger()
			if err != nil {
				return err
			}
			r.inject()
			var attempts []hostile.Request
			for _, some := range [][]hostile.Request{target.Bodies(r.random), target.Shapes(), target.Users()} {
				attempts = append(attempts, some...)
			}
			refused := r.repel(ctx, gates, attempts)
			events := r.repel(ctx, workers, target.Events(r.random))
			r.heal()
			r.hit(len(refused), "%d requests to gateways were answered, which took %d MB of theirs", len(refused), megabytes(refused))
			r.hit(len(events), "%d requests to workers were answered, which took %d MB of theirs", len(events), megabytes(events))
			if err := r.recovered(ctx); err != nil {
				return err
			}
			return r.wantNoTrace(ctx, target.User)
		},
	}
}
