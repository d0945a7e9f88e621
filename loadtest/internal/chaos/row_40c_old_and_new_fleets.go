package chaos

import (
	"context"
	"time"

	"sluice/loadtest/internal/earlier"
)

// oldAndNewFleets: nobody is refused because another version is rolled out, or back.
func oldAndNewFleets() Row {
	return Row{
		ID: "40c", Name: "old-and-new-fleets", Bound: 15 * time.Second, Stack: clustered,
		Fault:  "as 40, with four gateways and four workers, behind a proxy with health checks; the stores are clusters",
		Expect: "both accept attempts and make orders of what the other handed over; every attempt is answered, and none 503; nothing that was answered 202 is lost",
		Run: func(ctx context.Context, r *Round) error {
			from := r.journal.Now()
			defer r.routeByHealth(ctx)()
			if err := r.rollsBackAndForth(ctx, earlier.PinnedOnClusters, clusterUnits, clusterRate); err != nil {
				return err
			}
			r.wantUnnoticed(from, "old and new programs ran beside each other")
			return nil
		},
	}
}
