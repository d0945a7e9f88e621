package chaos

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"sluice/shared/devstack"
)

// gatewaysSleepThroughARebuild: what a gateway reserved and handed over before it was cut
// off arrives when a rebuild has counted its unit as free.
func gatewaysSleepThroughARebuild() Row {
	return Row{
		ID: "11b", Name: "gateways-sleep-through-a-rebuild", Bound: 15 * time.Second, Stack: Needs{Apart: true},
		Fault:  "gateways are cut off from NATS, and Redis comes back empty and is rebuilt, before what they handed over arrives",
		Expect: "nobody was answered 202 for it; it is of an older epoch and rejected as superseded: its units are sold again",
		Run: func(ctx context.Context, r *Round) error {
			if err := r.begin(ctx, killUnits, killRate); err != nil {
				return err
			}
			decided, err := r.decided(ctx)
			if err != nil {
				return err
			}
			proxy, before := r.stack.Apart("nats"), r.load.unknown.Load()
			r.inject()
			proxy.Freeze()
			defer proxy.Heal()
			err = r.until(ctx, hitPatience, "attempts are left without a certain answer", func() bool { return r.load.unknown.Load() >= before+20 })
			if err != nil {
				return err
			}
			epoch, err := r.rebuiltEmpty(ctx)
			if err != nil {
				return err
			}
			proxy.Heal()
			r.heal()
			if err := r.recovered(ctx); err != nil {
				return err
			}
			r.load.wantAsBefore(ctx, decided)
			return r.hitByLateHandOvers(ctx, epoch)
		},
	}
}

// rebuiltEmpty has Redis lose everything, and waits until the sale is rebuilt. It returns
// the epoch.
func (r *Round) rebuiltEmpty(ctx context.Context) (epoch int64, err error) {
	before, err := r.stores.Postgres.Entry(ctx, r.saleID)
	if err != nil {
		return 0, err
	}
	if err := r.stack.Restart(ctx, "redis", (*devstack.Server).Kill, (*devstack.Server).WipeData); err != nil {
		return 0, err
	}
	var failed error
	err = r.until(ctx, r.row.Bound*slack, "the sale is rebuilt", func() bool {
		now, err := r.stores.Postgres.Entry(ctx, r.saleID)
		epoch, failed = now.Epoch, err
		return err != nil || now.Epoch > before.Epoch && !now.Rebuilding
	})
	if err != nil {
		return 0, err
	}
	return epoch, failed
}

// hitByLateHandOvers counts the hand-overs of older epochs that came after the last one
// which the rebuild of an epoch has ordered.
func (r *Round) hitByLateHandOvers(ctx context.Context, epoch int64) error {
	js, hangUp, err := r.jetStream()
	if err != nil {
		return err
	}
	defer hangUp()
	last, err := r.lastOrdered(ctx, epoch)
	if err != nil {
		return err
	}
	messages, err := r.handOvers(ctx, js)
	if err != nil {
		return err
	}
	late := 0
	for _, m := range messages {
		of, err := strconv.ParseInt(m.Header.Get("Sluice-Epoch"), 10, 64)
		if err != nil {
			return fmt.Errorf("cannot read the epoch of hand-over %d: %w", m.Sequence, err)
		}
		if of < epoch && m.Sequence > last {
			late++
		}
	}
	r.hit(late, "%d hand-overs came after the rebuild of their epoch had ordered up to %d", late, last)
	return nil
}

// lastOrdered is the last sequence of the sale's subject that a rebuild has ordered.
func (r *Round) lastOrdered(ctx context.Context, epoch int64) (last uint64, err error) {
	err = r.query(ctx, `SELECT last_seq FROM rebuilds WHERE sale_id = $1 AND epoch = $2`, []any{r.saleID, epoch}, &last)
	return last, err
}
