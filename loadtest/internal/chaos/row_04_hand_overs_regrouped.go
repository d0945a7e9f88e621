package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sluice/shared/sale"
)

// handOversRegrouped: a rid is decided once, whoever brings it again, and beside whom.
func handOversRegrouped() Row {
	const hold, times = 2 * time.Second, 3
	return Row{
		ID: "4", Name: "hand-overs-regrouped", Bound: 30 * time.Second, Stack: Needs{Proxied: true},
		Fault:  fmt.Sprintf("orders that are long expired are handed over again, %d times, among reservations that no hand-over has brought yet", times),
		Expect: "known ones move nothing and stay expired; the others are ordered, once",
		Run: func(ctx context.Context, r *Round) error {
			if err := r.open(ctx, saleOf{units: killUnits, hold: hold}); err != nil {
				return err
			}
			r.attack(ctx, killRate/2)
			expired, err := r.expired(ctx, 50)
			if err != nil {
				return err
			}
			before, err := r.known(ctx)
			if err != nil {
				return err
			}
			proxy := r.stack.Proxy("nats")
			r.inject()
			proxy.Cut()
			defer proxy.Heal()
			others, err := r.regroup(ctx, expired, times)
			if err != nil {
				return err
			}
			proxy.Heal()
			r.heal()
			if err := r.recovered(ctx); err != nil {
				return err
			}
			after, err := r.known(ctx)
			if err != nil {
				return err
			}
			r.hit(int(after-before), "%d expired orders came again among %d other reservations; workers were brought %.0f that they knew", len(expired), others, after-before)
			return nil
		},
	}
}

// expired waits until so many orders were not paid in time, and returns the reservations of
// all such.
func (r *Round) expired(ctx context.Context, n int) (gone []sale.Reservation, err error) {
	var failed error
	err = r.until(ctx, hitPatience, fmt.Sprintf("%d orders expire", n), func() bool {
		gone, failed = r.expiredNow(ctx)
		return failed != nil || len(gone) >= n
	})
	return gone, errors.Join(failed, err)
}

func (r *Round) expiredNow(ctx context.Context) ([]sale.Reservation, error) {
	state, err := r.state(ctx)
	if err != nil {
		return nil, err
	}
	expired := make(map[string]bool)
	for _, o := range state.Orders {
		expired[o.ID] = o.State == string(sale.OrderExpired)
	}
	all, err := r.handedOver(ctx)
	return slices.DeleteFunc(all, func(v sale.Reservation) bool { return !expired[v.RID] }), err
}

// regroup waits until reservations are listed that could not be handed over, and publishes
// them among known ones so many times, each time in other hand-overs.
func (r *Round) regroup(ctx context.Context, known []sale.Reservation, times int) (others int, err error) {
	before := r.load.unknown.Load()
	if err := r.until(ctx, hitPatience, "attempts are left without a certain answer", func() bool { return r.load.unknown.Load() >= before+100 }); err != nil {
		return 0, err
	}
	e, err := r.stores.Postgres.Entry(ctx, r.saleID)
	if err != nil {
		return 0, err
	}
	listed, err := r.stores.Redis.Overdue(ctx, r.saleID, e.Epoch, 0, sale.MaxHandOver)
	if err != nil {
		return 0, err
	}
	together := slices.Concat(known, listed)
	for range times {
		r.random.Shuffle(len(together), func(i, j int) { together[i], together[j] = together[j], together[i] })
		for some := range slices.Chunk(together, 2+r.random.IntN(sale.MaxHandOver-1)) {
			if err := r.handOver(ctx, e, some); err != nil {
				return 0, err
			}
		}
	}
	return len(listed), nil
}
