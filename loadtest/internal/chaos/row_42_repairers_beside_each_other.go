package chaos

import (
	"context"
	"time"
)

// repairersBesideEachOther: whoever repairs may die half-way, and may not be alone.
func repairersBesideEachOther() Row {
	return Row{
		ID: "42", Name: "repairers-beside-each-other", Bound: 20 * time.Second,
		Fault: "two workers reconcile at once a sale whose stock in Redis is wrong, and each is killed between its finding and the repair; " +
			"then Redis loses the sale under load, and every rebuild loses the connection that its lock is on, until two rebuild at once",
		Expect: "reconciliations come one after the other, and end with the stock that Postgres has free; of the rebuilds that with the higher epoch brings the sale live",
		Run: func(ctx context.Context, r *Round) error {
			if err := r.open(ctx, saleOf{units: killUnits}); err != nil {
				return err
			}
			r.inject()
			if err := r.reconcilersDie(ctx); err != nil {
				return err
			}
			r.attack(ctx, killRate/2)
			if err := r.accepting(ctx, 50); err != nil {
				return err
			}
			decided, err := r.decided(ctx)
			if err != nil {
				return err
			}
			if err := r.rebuildersMeet(ctx); err != nil {
				return err
			}
			r.load.wantAsBefore(ctx, decided)
			return nil
		},
	}
}
