package chaos

import (
	"context"
	"fmt"
	"sync"
	"time"

	"sluice/shared/devstack"
	"sluice/shared/faultproxy"
	"sluice/shared/sale"
)

// unitsAddedAnswerLost: whoever lost an answer repeats the call.
func unitsAddedAnswerLost() Row {
	return Row{
		ID: "33", Name: "units-added-answer-lost", Bound: 25 * time.Second,
		Fault: "units are added to a sale that has sold out, and the answer is lost; the call is repeated many times at once. More are added while " +
			"Redis is gone, by a worker that is killed before anybody hears of it; Redis comes back empty, and both calls are repeated",
		Expect: "each adds its units once; the sale sells again",
		Run:    func(ctx context.Context, r *Round) error { return r.addsUnits(ctx) },
	}
}

const (
	fewUnits = 100
	addFirst = 1500 // units
	addNext  = 700
)

func (r *Round) addsUnits(ctx context.Context) error {
	if err := r.begin(ctx, fewUnits, killRate); err != nil {
		return err
	}
	if err := r.until(ctx, hitPatience, "the sale is sold out", func() bool { return r.load.answers(sale.SoldOut.String()) > 0 }); err != nil {
		return err
	}
	first, next := r.saleID+"-first", r.saleID+"-next"
	r.inject()
	if err := r.adjustUnheard(ctx, r.random.IntN(workers), first, addFirst); err != nil {
		return err
	}
	if err := r.adjustAtOnce(ctx, first, addFirst); err != nil {
		return err
	}
	if err := r.wantTotal(ctx, fewUnits+addFirst); err != nil {
		return err
	}
	decided, err := r.decided(ctx)
	if err != nil {
		return err
	}
	if err := r.adjustWithoutRedis(ctx, r.random.IntN(workers), next, addNext); err != nil {
		return err
	}
	r.heal()
	if err := r.recovered(ctx); err != nil {
		return err
	}
	r.load.wantAsBefore(ctx, decided)
	for id, delta := range map[string]int64{first: addFirst, next: addNext} {
		if err := r.adjustAtOnce(ctx, id, delta); err != nil {
			return err
		}
	}
	return r.wantTotal(ctx, fewUnits+addFirst+addNext)
}

// adjustUnheard has a worker adjust the sale, and its answer lost.
func (r *Round) adjustUnheard(ctx context.Context, worker int, id string, delta int64) error {
	proxy, through, err := faultproxy.StartFor(r.admin(worker))
	if err != nil {
		return err
	}
	defer func() { _ = proxy.Close() }() // nothing passes any more
	proxy.LoseReplies()
	call, giveUp := context.WithCancel(ctx)
	defer giveUp()
	answered := make(chan error, 1)
	go func() {
		_, err := r.adjust(call, through, id, delta)
		answered <- err
	}()
	err = r.until(ctx, hitPatience, "the answer to an adjustment is lost", func() bool { return proxy.Lost() > 0 })
	giveUp()
	if heard := <-answered; err == nil && heard == nil {
		return fmt.Errorf("%w the answer to adjustment %s was lost", errNot, id)
	}
	if err != nil {
		return err
	}
	r.hit(1, "%d bytes of the answer to +%d units were lost", proxy.Lost(), delta)
	return nil
}

// adjustAtOnce repeats an adjustment many times at once, at every worker, until each is
// told that it is applied.
func (r *Round) adjustAtOnce(ctx context.Context, id string, delta int64) error {
	const times = 20
	errs := make([]error, times)
	var all sync.WaitGroup
	for i := range times {
		all.Go(func() {
			errs[i] = r.until(ctx, hitPatience, "adjustment "+id+" is applied", func() bool {
				a, err := r.adjust(ctx, r.admin(i), id, delta)
				return err == nil && a.applied()
			})
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// adjustWithoutRedis has a worker die with an adjustment that Postgres has and Redis, which
// is down and loses everything, has not.
func (r *Round) adjustWithoutRedis(ctx context.Context, worker int, id string, delta int64) error {
	died, err := r.arm(ctx, "worker", worker, "worker.adjusted_written=kill@1")
	if err != nil {
		return err
	}
	return r.stack.Restart(ctx, "redis", (*devstack.Server).Kill, func(s *devstack.Server) error {
		if a, err := r.adjust(ctx, r.admin(worker), id, delta); err == nil {
			return fmt.Errorf("%w worker-%d died of adjustment %s: it answered %d %s", errNot, worker, id, a.Status, a.Type)
		}
		if err := r.dead(ctx, died); err != nil {
			return fmt.Errorf("worker-%d and adjustment %s: %w", worker, id, err)
		}
		r.hit(1, "worker-%d was killed with +%d units that only Postgres had", worker, delta)
		return s.WipeData()
	})
}
