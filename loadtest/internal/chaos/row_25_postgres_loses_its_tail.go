package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/shared/devstack"
)

// leastLost is how many orders the new primary must lack.
const leastLost = 50

// postgresLosesItsTail: who arbitrates has forgotten.
func postgresLosesItsTail() Row {
	return Row{
		ID: "25", Name: "postgres-loses-its-tail", Bound: 60 * time.Second, Stack: clustered,
		Fault:  "the standby of Postgres gets nothing any more, and commits do not wait for it; then the primary is killed, and the standby promoted without the last orders",
		Expect: "the lost orders are made again from the stream, under the same ids, and Redis is made anew from that; tickets are as before",
		Run: func(ctx context.Context, r *Round) error {
			if err := r.begin(ctx, clusterUnits, clusterRate); err != nil {
				return err
			}
			if err := r.losesTail(ctx); err != nil {
				return err
			}
			return nil
		},
	}
}

func (r *Round) losesTail(ctx context.Context) error {
	pair := r.stack.Cluster().Postgres
	standby := pair.Standby()
	r.inject()
	if err := pair.CutStandby(ctx); err != nil {
		return err
	}
	lost, err := r.lacks(ctx, standby)
	if err != nil {
		return err
	}
	decided, err := r.decided(ctx)
	if err != nil {
		return err
	}
	before, err := r.stores.Postgres.Entry(ctx, r.saleID)
	if err != nil {
		return err
	}
	killed := r.journal.Now()
	if err := r.killPrimary(ctx); err != nil {
		return err
	}
	r.hit(int(lost), "the new primary lacked %d orders or more", lost)
	if err := r.goesOnAfter(ctx); err != nil {
		return err
	}
	r.paused(ctx, "the Postgres primary, with the tail of its log", killed)
	after, err := r.stores.Postgres.Entry(ctx, r.saleID)
	if err != nil {
		return err
	}
	if after.Epoch <= before.Epoch {
		r.fail("I8", "Postgres had lost orders, and Redis was not made anew: it is at epoch %d still", after.Epoch)
	} else {
		r.hit(int(after.Epoch-before.Epoch), "the sale went from epoch %d to %d", before.Epoch, after.Epoch)
	}
	r.load.wantAsBefore(ctx, decided)
	return nil
}

// lacks waits until a standby that was cut off lacks orders, and returns how many.
func (r *Round) lacks(ctx context.Context, standby *devstack.Server) (lost int64, err error) {
	const orders = `SELECT count(*) FROM orders WHERE sale_id = $1`
	db, err := pgx.Connect(ctx, standby.URL())
	if err != nil {
		return 0, fmt.Errorf("cannot connect to the standby: %w", err)
	}
	defer hangUp(db)
	var has int64
	if err := db.QueryRow(ctx, orders, r.saleID).Scan(&has); err != nil {
		return 0, fmt.Errorf("cannot count orders of the standby: %w", err)
	}
	var failed error
	late := r.until(ctx, hitPatience, fmt.Sprintf("the standby lacks %d orders", leastLost), func() bool {
		var made int64
		made, failed = r.count(ctx, orders, r.saleID)
		lost = made - has
		return failed == nil && lost >= leastLost
	})
	if late != nil {
		return 0, errors.Join(late, failed)
	}
	return lost, nil
}
