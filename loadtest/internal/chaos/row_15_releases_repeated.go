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
	"sluice/shared/redisstock"
	"sluice/shared/sale"
)

// releasesRepeated: a unit goes back once, whoever says so and however often.
func releasesRepeated() Row {
	const (
		orders = 20
		times  = 100
	)
	return Row{
		ID: "15", Name: "releases-repeated", Bound: 10 * time.Second,
		Fault: fmt.Sprintf("%d orders are cancelled %d times at once at two workers; then the marks that Redis has heard of it are lost, "+
			"over and over, and it is told %d times more at once", orders, times, times),
		Expect: "each unit goes back once",
		Run: func(ctx context.Context, r *Round) error {
			if err := r.begin(ctx, killUnits, killRate/2); err != nil {
				return err
			}
			won, err := r.confirmed(ctx, orders)
			if err != nil {
				return err
			}
			r.inject()
			answered, err := r.cancelAtOnce(ctx, won, times)
			if err != nil {
				return err
			}
			r.hit(answered, "two workers answered that %d orders are cancelled %d times", orders, answered)
			if err := r.releaseAgain(ctx, won, times); err != nil {
				return err
			}
			r.heal()
			return r.recovered(ctx)
		},
	}
}

// confirmed waits until so many buyers have read that their orders are made, and draws them.
func (r *Round) confirmed(ctx context.Context, n int) (won []record.Winner, err error) {
	err = r.until(ctx, hitPatience, fmt.Sprintf("%d buyers read that they have an order", n), func() bool {
		won = won[:0]
		for _, w := range r.load.winners.All() {
			if w.Last() == sale.StatusConfirmed {
				won = append(won, w)
			}
		}
		return len(won) >= n
	})
	if err != nil {
		return nil, err
	}
	r.random.Shuffle(len(won), func(i, k int) { won[i], won[k] = won[k], won[i] })
	return won[:n], nil
}

// cancelAtOnce has each order cancelled so many times at once, at one worker and the other,
// and returns how many were answered that it is.
func (r *Round) cancelAtOnce(ctx context.Context, won []record.Winner, times int) (answered int, err error) {
	var yes atomic.Int64
	for _, w := range won {
		var all sync.WaitGroup
		errs := make([]error, times)
		for i := range times {
			all.Go(func() {
				status, err := r.cancel(ctx, i, w.Buyer, w.RID)
				if errs[i] = err; status == http.StatusOK {
					yes.Add(1)
				}
			})
		}
		all.Wait()
		if err := errors.Join(errs...); err != nil {
			return int(yes.Load()), err
		}
	}
	if yes.Load() < int64(len(won)*times) {
		r.fail("I5", "of %d times that an order was cancelled, %d were answered that it is", len(won)*times, yes.Load())
	}
	return int(yes.Load()), nil
}

const appliedCounter = "sluice_releases_applied_total"

// releaseAgain has Redis told of releases that it has applied: so many times at once, over
// two connections, and by every worker again and again.
func (r *Round) releaseAgain(ctx context.Context, won []record.Winner, times int) error {
	rids := make([]string, len(won))
	for i, w := range won {
		rids[i] = w.RID
	}
	err := r.until(ctx, hitPatience, "Redis has heard of the releases", func() bool {
		n, err := r.count(ctx, `SELECT count(*) FROM releases WHERE rid = ANY($1::text[]::uuid[]) AND applied_at IS NOT NULL`, rids)
		return err == nil && n == int64(len(rids))
	})
	if err != nil {
		return err
	}
	before, err := r.ofWorkers(ctx, appliedCounter)
	if err != nil {
		return err
	}
	if err := r.unmark(ctx, rids); err != nil {
		return err
	}
	if err := r.tellRedis(ctx, rids, times); err != nil {
		return err
	}
	again := 0.0
	err = r.until(ctx, hitPatience, "workers release again", func() bool {
		now, err := r.ofWorkers(ctx, appliedCounter)
		again = now - before
		return err == nil && r.unmark(ctx, rids) == nil && again >= float64(times)
	})
	r.hit(int(again), "workers released again %.0f times", again)
	return err
}

// unmark forgets that Redis has applied releases.
func (r *Round) unmark(ctx context.Context, rids []string) error {
	return r.execute(ctx, `UPDATE releases SET applied_at = NULL WHERE rid = ANY($1::text[]::uuid[])`, rids)
}

// tellRedis calls the script so many times at once, as two workers would.
func (r *Round) tellRedis(ctx context.Context, rids []string, times int) error {
	entry, err := r.stores.Postgres.Entry(ctx, r.saleID)
	if err != nil {
		return err
	}
	releases := make([]sale.Release, len(rids))
	for i, rid := range rids {
		releases[i] = sale.Release{RID: rid, SaleID: r.saleID, Status: sale.StatusCancelled, Give: 1, Slot: sale.SlotOpens}
	}
	clients := make([]*redisstock.Client, workers)
	for i := range clients {
		if clients[i], err = redisstock.Open(redisstock.Config{URL: r.stack.Info().Redis.URL, PoolSize: times, Timeout: answerTimeout, Wait: answerTimeout}); err != nil {
			return err
		}
		defer func() { _ = clients[i].Close() }() // every call was answered
	}
	var all sync.WaitGroup
	var given atomic.Int64
	errs := make([]error, times)
	for i := range times {
		all.Go(func() {
			_, results, err := clients[i%workers].Release(ctx, r.saleID, entry.Epoch, releases)
			errs[i] = err
			for _, result := range results {
				if result == sale.ReleaseDone {
					given.Add(1)
				}
			}
		})
	}
	all.Wait()
	if n := given.Load(); n > 0 {
		r.fail("I5", "%d units that had gone back went back once more", n)
	}
	return errors.Join(errs...)
}
