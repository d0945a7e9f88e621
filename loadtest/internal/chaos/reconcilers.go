package chaos

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/redis/go-redis/v9"
)

// reconcilersDie has every worker killed on its way to a repair, and the repair made by those
// who come after.
func (r *Round) reconcilersDie(ctx context.Context) error {
	first, err := r.count(ctx, `SELECT coalesce(max(run), 0) FROM reconciliation_runs`)
	if err != nil {
		return err
	}
	var deaths []<-chan struct{}
	for i := range workers {
		died, err := r.arm(ctx, "worker", i, "worker.reconciled=kill")
		if err != nil {
			return err
		}
		deaths = append(deaths, died)
	}
	if err := r.addToStock(ctx, 3); err != nil {
		return err
	}
	err = r.until(ctx, hitPatience, "every worker is killed on its way to a repair", func() bool {
		r.reconcileAtOnce(ctx)
		return allClosed(deaths)
	})
	if err != nil {
		return err
	}
	r.hit(workers, "%d workers were killed between a finding and its repair", workers)
	if err := r.untilStockIsRight(ctx); err != nil {
		return err
	}
	if err := r.addToStock(ctx, -5); err != nil {
		return err
	}
	if err := r.untilStockIsRight(ctx); err != nil {
		return err
	}
	return r.oneAfterTheOther(ctx, first)
}

func allClosed(all []<-chan struct{}) bool {
	for _, c := range all {
		select {
		case <-c:
		default:
			return false
		}
	}
	return true
}

// reconcileAtOnce asks every worker for a reconciliation at the same time, and returns how
// many answered with one. One that dies meanwhile does not.
func (r *Round) reconcileAtOnce(ctx context.Context) (done int) {
	answers := make(chan int, workers)
	var all sync.WaitGroup
	for i := range workers {
		all.Go(func() {
			status, _, _ := r.operate(ctx, r.admin(i), "/reconciliations", "") // the status says it
			answers <- status
		})
	}
	all.Wait()
	for range workers {
		if <-answers == http.StatusOK {
			done++
		}
	}
	return done
}

// untilStockIsRight reconciles until Redis has in stock what Postgres has free, by runs that
// were asked for at once.
func (r *Round) untilStockIsRight(ctx context.Context) error {
	return r.until(ctx, hitPatience, "the stock in Redis is what Postgres has free", func() bool {
		done := r.reconcileAtOnce(ctx)
		right, err := r.stockIsRight(ctx)
		return err == nil && right && done == workers
	})
}

func (r *Round) stockIsRight(ctx context.Context) (bool, error) {
	free, err := r.count(ctx, `SELECT total - held FROM sale_stock WHERE sale_id = $1`, r.saleID)
	if err != nil {
		return false, err
	}
	entry, err := r.stores.Postgres.Entry(ctx, r.saleID)
	if err != nil {
		return false, err
	}
	snapshot, _, err := r.stores.Redis.Snapshot(ctx, r.saleID, entry.Epoch)
	return snapshot.Stock == free, err
}

// oneAfterTheOther wants no two finished reconciliations under way at the same time.
func (r *Round) oneAfterTheOther(ctx context.Context, after int64) error {
	beside, err := r.count(ctx, `SELECT count(*) FROM reconciliation_runs a JOIN reconciliation_runs b ON b.run > a.run
		WHERE a.run > $1 AND b.started_at < a.finished_at`, after)
	if beside > 0 {
		r.fail("I5", "%d pairs of reconciliations were under way at the same time", beside)
	}
	return err
}

// addToStock puts the stock in Redis wrong.
func (r *Round) addToStock(ctx context.Context, units int64) error {
	return r.inRedis(func(client redis.UniversalClient) error {
		entry, err := r.stores.Postgres.Entry(ctx, r.saleID)
		if err != nil {
			return err
		}
		return client.IncrBy(ctx, fmt.Sprintf("sluice:{%s}:%d:stock", r.saleID, entry.Epoch), units).Err()
	})
}
