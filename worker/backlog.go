package main

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/shared/backlog"
	"sluice/shared/jetqueue"
	"sluice/shared/redisstock"
	"sluice/shared/sale"
)

// newBacklog keeps and exports what waits of every sale. It is fed by fulfilment, which
// follows the catalogue and re-reads every sale once a second anyway: see watchedStock
// and watchedCatalogue.
func newBacklog(c config, queue *jetqueue.Queue, registry prometheus.Registerer, log *slog.Logger) *backlog.Watch {
	w := backlog.New(queue, log)
	registry.MustRegister(w.Collector(c.promise))
	return w
}

// watchedStock tells the backlog what is read of the sales.
type watchedStock struct {
	*redisstock.Client
	backlog *backlog.Watch
}

func (s watchedStock) Snapshot(ctx context.Context, saleID string, epoch int64) (sale.Snapshot, sale.HandOff, error) {
	return backlog.Reading{Redis: s.Client, Watch: s.backlog}.Snapshot(ctx, saleID, epoch)
}

// watchedCatalogue tells the backlog which sales there are.
type watchedCatalogue struct {
	*jetqueue.Queue
	backlog *backlog.Watch
}

func (c watchedCatalogue) Watch(ctx context.Context, changed func(sale.Entry), replayed func()) error {
	both := func(e sale.Entry) {
		c.backlog.Apply(e)
		changed(e)
	}
	return c.Queue.Watch(ctx, both, replayed)
}
