package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"sluice/loadtest/internal/record"
	"sluice/loadtest/internal/wait"
	"sluice/shared/sale"
)

// soldOutIsStale: there is a unit again, and nobody has told the gateways, or somebody who
// knows no better tells them that there is none.
func soldOutIsStale() Row {
	return Row{
		ID: "13", Name: "sold-out-is-stale", Bound: 2 * time.Second,
		Fault:  "a sale is sold out, orders are cancelled, and no broadcast of it reaches a gateway; and again, and what is broadcast is old",
		Expect: "every gateway reads the sale again within a second, and exactly what came back is sold; what is old changes nothing",
		Run: func(ctx context.Context, r *Round) error {
			if err := r.whileDeaf(ctx, r.sellWhatComesBack); err != nil {
				return err
			}
			return r.sayOldThings(ctx)
		},
	}
}

// whileDeaf does something while gateways take in no broadcast.
func (r *Round) whileDeaf(ctx context.Context, do func(context.Context) error) (err error) {
	defer func() { err = errors.Join(err, r.armGateways(context.WithoutCancel(ctx), "")) }()
	if err := r.armGateways(ctx, "gateway.heard=error"); err != nil {
		return err
	}
	return do(ctx)
}

// armGateways starts every gateway again, with these failpoints.
func (r *Round) armGateways(ctx context.Context, failpoints string) error {
	for i := range gateways {
		if _, err := r.arm(ctx, "gateway", i, failpoints); err != nil {
			return err
		}
	}
	return nil
}

const (
	staleUnits = 100
	// So slowly that one gateway cannot sell all before the other has read the sale again.
	staleRate = 60 // attempts a second
)

// sellWhatComesBack sells out, has buyers give some back, and waits until that is sold,
// by gateways that hear nothing.
func (r *Round) sellWhatComesBack(ctx context.Context) error {
	if err := r.begin(ctx, staleUnits, staleRate); err != nil {
		return err
	}
	err := r.until(ctx, hitPatience, "every gateway says sold out, and all that is sold is decided", func() bool {
		return r.load.answers(sale.SoldOut.String()) >= 10 && r.load.undecided() == 0
	})
	if err != nil {
		return err
	}
	var told atomic.Int64
	stop, err := r.stores.Queue.SubscribeSnapshots(func(s sale.Snapshot) {
		if s.SaleID == r.saleID && !s.SoldOut {
			told.Add(1)
		}
	})
	if err != nil {
		return err
	}
	defer stop()
	again := 40 + r.random.IntN(20)
	r.inject()
	if err := r.cancelAll(ctx, r.load.winners.All()[:again]); err != nil {
		return err
	}
	r.heal() // but for the broadcasts, which come to nobody here
	if err := r.recovered(ctx); err != nil {
		return err
	}
	if err := r.accepting(ctx, int64(staleUnits+again)); err != nil {
		return err
	}
	if told.Load() == 0 {
		return fmt.Errorf("%w a broadcast said that there is stock", errNot)
	}
	r.hit(int(told.Load()), "%d broadcasts said that there is stock, and no gateway took them in", told.Load())
	r.load.pause() // gateways are about to start again
	return nil
}

// sayOldThings has buyers give some back once more, and tells gateways, which hear again,
// over and over that there is nothing.
func (r *Round) sayOldThings(ctx context.Context) error {
	old, err := r.snapshot(ctx)
	if err != nil {
		return err
	}
	sold := r.load.winners.All() // of which the oldest were cancelled
	if err := r.cancelAll(ctx, sold[len(sold)-staleUnits*9/10:]); err != nil {
		return err
	}
	resumed := time.Now()
	r.load.goOn(ctx, staleRate)
	err = r.until(ctx, hitPatience, "every gateway sells what came back", func() bool { return r.load.goesOn(resumed) })
	if err != nil {
		return err
	}
	before := r.load.answers(sale.SoldOut.String())
	const times, apart = 5, 100 * time.Millisecond
	for range times {
		if err := r.stores.Queue.NotifySnapshot(old); err != nil {
			return err
		}
		wait.For(ctx, apart)
	}
	now, err := r.snapshot(ctx)
	if err != nil {
		return err
	}
	if now.Stock == 0 {
		return fmt.Errorf("%w what came back outlasted what was said", errNot)
	}
	if n := r.load.answers(sale.SoldOut.String()) - before; n > 0 {
		r.fail("I9", "%d attempts were told sold out, by version %d, while version %d had %d in stock", n, old.Version, now.Version, now.Stock)
	}
	r.hit(0, "%d broadcasts said that it was sold out as of version %d, while version %d had stock", times, old.Version, now.Version)
	return nil
}

// cancelAll cancels these orders, as their buyers do, some at a time.
func (r *Round) cancelAll(ctx context.Context, winners []record.Winner) error {
	const atOnce = 8
	failed := make([]error, len(winners))
	var cancels sync.WaitGroup
	for first := range atOnce {
		cancels.Go(func() {
			for i := first; i < len(winners); i += atOnce {
				status, err := r.cancel(ctx, winners[i].Buyer, winners[i].Buyer, winners[i].RID)
				if err == nil && status != http.StatusOK {
					err = fmt.Errorf("cannot cancel order %s: %d", winners[i].RID, status)
				}
				failed[i] = err
			}
		})
	}
	cancels.Wait()
	return errors.Join(failed...)
}
