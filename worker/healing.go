package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/shared/jetqueue"
	"sluice/shared/load"
	"sluice/shared/pgstore"
	"sluice/shared/redisstock"
	"sluice/worker/internal/rebuild"
)

// loadTimeout is of one call that loads a page of tickets into a Redis that has other
// things to do too.
const loadTimeout = 5 * time.Second

// healing are connections for rebuilds, retirements and reconciliations: a rebuild waits for
// orders, and all read whole sales, so they must not take the orders' connections, nor
// those theirs.
type healing struct {
	store *pgstore.Store
	stock *redisstock.Client

	unchecked *pgstore.Store // for comparing Postgres with the other stores, before anything works with it
	watch     *pgstore.Store // for alerts, which wait for none of it
}

func openHealing(ctx context.Context, c config, primary *pgstore.Primary) (h healing, err error) {
	// Each count holds a connection, the locks of sales share one, reconciling holds one
	// and its reads another; two are for short calls, which wait for their turn. Those of
	// Redis do not wait: the looks go on side by side.
	conns := c.rebuilds + 5
	h.store, err = pgstore.Open(ctx, pgstore.Config{URL: c.postgresURL, MaxConns: int32(conns), StatementTimeout: c.statement, Checked: true, Primary: primary})
	if err != nil {
		return healing{}, err
	}
	if h.unchecked, err = openUnchecked(ctx, c, primary); err != nil {
		h.store.Close()
		return healing{}, err
	}
	if h.watch, err = openWatch(ctx, c, primary); err != nil {
		h.store.Close()
		h.unchecked.Close()
		return healing{}, err
	}
	h.stock, err = redisstock.Open(redisstock.Config{URL: c.redisURL, PoolSize: c.rebuilds + 2 + rebuild.Looking, Timeout: loadTimeout})
	if err != nil {
		h.store.Close()
		h.unchecked.Close()
		h.watch.Close()
		return healing{}, err
	}
	return h, nil
}

func (h healing) close() {
	_ = h.stock.Close() // every call was answered; closing tells nothing
	h.store.Close()
	h.unchecked.Close()
	h.watch.Close()
}

func (h healing) rebuilds(c config, queue *jetqueue.Queue, hit func(string) error, registry prometheus.Registerer, log *slog.Logger) *rebuild.Rebuilds {
	atPoint := func(point string) error { return hit(rebuildPoint(point)) }
	return rebuild.New(lockable{h.store}, h.stock, queue, c.rebuilds, atPoint, rebuild.NewMetrics(registry), log)
}

func rebuildPoint(point string) string { return "rebuild." + point }

// rebuildPoints are the failpoints between the steps of a rebuild.
func rebuildPoints() []string {
	return converted(load.Points(), rebuildPoint)
}

// lockable fits the lock of a sale to what rebuilds need of it.
type lockable struct{ *pgstore.Store }

func (l lockable) Lock(ctx context.Context, saleID string) (unlock func(), locked bool, err error) {
	unlock, err = l.LockSale(ctx, saleID)
	if errors.Is(err, pgstore.ErrLocked) {
		return nil, false, nil
	}
	return unlock, err == nil, err
}
