package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"sluice/shared/sale"
)

// unitsTakenThatAreHeld: what somebody holds cannot be taken away, and what is taken away
// must not be sold meanwhile.
func unitsTakenThatAreHeld() Row {
	return Row{
		ID: "34", Name: "units-taken-that-are-held", Bound: 30 * time.Second,
		Fault: "more units are taken from a selling sale than are unsold; fewer, by a worker that is killed when Redis alone has let go of them; then, " +
			"beside buyers, what is left, by both workers at once",
		Expect: "409 unsold, and nothing moves; what goes leaves Redis before Postgres, once; no unit is both taken and sold",
		Run:    func(ctx context.Context, r *Round) error { return r.takesUnits(ctx) },
	}
}

const (
	takeFrom = 8000 // units
	takeOnce = 500
)

func (r *Round) takesUnits(ctx context.Context) error {
	if err := r.begin(ctx, takeFrom, killRate); err != nil {
		return err
	}
	r.inject()
	if err := r.refusedToTake(ctx, r.saleID+"-all", -takeFrom, takeFrom); err != nil {
		return err
	}
	if err := r.takenByRedisAlone(ctx, r.random.IntN(workers), r.saleID+"-some", -takeOnce); err != nil {
		return err
	}
	r.heal()
	if err := r.recovered(ctx); err != nil {
		return err
	}
	taken, err := r.takenBesideBuyers(ctx)
	if err != nil {
		return err
	}
	return r.wantTotal(ctx, takeFrom-takeOnce-taken)
}

// refusedToTake wants an adjustment to be refused every time, whoever repeats it.
func (r *Round) refusedToTake(ctx context.Context, id string, delta, total int64) error {
	for range 2 * workers {
		a, err := r.adjustToEnd(ctx, id, delta)
		if err != nil {
			return err
		}
		if !a.unsold() || a.Unsold == nil || *a.Unsold >= total {
			r.fail("I1", "%d of %d units were taken while some are held: %d %s", -delta, total, a.Status, a.Type)
			return nil
		}
		r.hit(1, "taking %d was refused: %d were unsold", -delta, *a.Unsold)
	}
	return r.wantTotal(ctx, total)
}

// takenByRedisAlone has a worker die when Redis has let go of units and Postgres has not,
// and watches in which order they go.
func (r *Round) takenByRedisAlone(ctx context.Context, worker int, id string, delta int64) error {
	died, err := r.arm(ctx, "worker", worker, "worker.adjusted_in_redis=kill@1")
	if err != nil {
		return err
	}
	watched, err := r.watchTotals(ctx)
	if err != nil {
		return err
	}
	a, err := r.adjustToDeath(ctx, worker, id, delta, died)
	first, failed := watched.end()
	switch {
	case errors.Join(err, failed) != nil:
		return errors.Join(err, failed)
	case first == 0:
		return fmt.Errorf("%w Redis had let go of units that Postgres still counted", errNot)
	case !a.applied():
		r.fail("I4", "taking %d unsold units was answered %d %s", -delta, a.Status, a.Type)
	}
	r.hit(1, "worker-%d was killed with %d units that Redis alone had let go of; seen %d times", worker, -delta, first)
	return nil
}

// adjustToDeath has a worker die of an adjustment, and then it repeated until it is decided.
func (r *Round) adjustToDeath(ctx context.Context, worker int, id string, delta int64, died <-chan struct{}) (a adjusted, err error) {
	if a, err := r.adjust(ctx, r.admin(worker), id, delta); err == nil {
		return a, fmt.Errorf("%w worker-%d died of adjustment %s: it answered %d %s", errNot, worker, id, a.Status, a.Type)
	}
	if err := r.dead(ctx, died); err != nil {
		return a, fmt.Errorf("worker-%d and adjustment %s: %w", worker, id, err)
	}
	return r.adjustToEnd(ctx, id, delta)
}

// takenBesideBuyers takes units of the running sale until none is left, and returns how
// many went.
func (r *Round) takenBesideBuyers(ctx context.Context) (taken int64, err error) {
	refused := 0
	for i := 0; r.load.answers(sale.SoldOut.String()) == 0; i++ {
		if i == mostTakes {
			return taken, fmt.Errorf("%w the sale is sold out after %d times that units were taken", errNot, i)
		}
		units, unsold, err := r.takeAtOnce(ctx, i)
		if err != nil {
			return taken, err
		}
		taken, refused = taken+units, refused+unsold
	}
	r.hit(1, "%d units were taken beside buyers, %d times not that many were unsold", taken, refused)
	return taken, nil
}

// takeAtOnce asks each worker to take some units, at the same time, and returns how many
// went, and how many calls were refused.
func (r *Round) takeAtOnce(ctx context.Context, nth int) (taken int64, refused int, err error) {
	var all sync.WaitGroup
	var mu sync.Mutex
	for i := range workers {
		id, units := fmt.Sprintf("%s-%d-%d", r.saleID, nth, i), int64(1+r.random.IntN(mostTaken))
		all.Go(func() {
			a, failed := r.adjustToEnd(ctx, id, -units)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case failed != nil:
				err = failed
			case a.applied():
				taken += units
			default:
				refused++
			}
		})
	}
	all.Wait()
	return taken, refused, err
}

const (
	mostTaken = 1000 // units at a time
	mostTakes = 5000 // times: buyers have the rest long before
)
