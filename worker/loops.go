package main

import (
	"context"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/shared/changes"
	"sluice/shared/jetqueue"
	"sluice/shared/pgstore"
	"sluice/worker/internal/checkout"
	"sluice/worker/internal/fulfil"
	"sluice/worker/internal/httpapi"
	"sluice/worker/internal/lifecycle"
	"sluice/worker/internal/reconcile"
)

// loops are what runs beside fulfilment, each until its context ends.
func (p parts) loops(c config, queue *jetqueue.Queue, f *fulfil.Fulfilment, upkeep *lifecycle.Upkeep, reconciler *reconcile.Reconciler,
	measures *lifecycle.Metrics, registry prometheus.Registerer,
) []func(context.Context) {
	converge := lifecycle.NewConvergence(p.store, changes.Bringer{Truth: p.store, Stock: p.stock, Catalogue: queue}, pgstore.ErrLocked, p.log)
	expiry := lifecycle.NewExpiry(p.store, c.expireEvery, f.ApplyReleases, p.points.Hit, measures, p.log)
	rebuilds := p.heal.rebuilds(c, queue, p.points.Hit, registry, p.log)
	keep := func(ctx context.Context) {
		upkeep.Run(ctx, streams{queue}, func() {
			converge.Again()
			f.LookForLost()
		})
	}
	return append(endings(c, p, queue, measures), converge.Run, keep, expiry.Run, rebuilds.Run, reconciler.Run)
}

// runAll runs loops until ctx ends; wait returns once all have.
func runAll(ctx context.Context, loops []func(context.Context)) (wait func()) {
	var running sync.WaitGroup
	for _, run := range loops {
		running.Go(func() { run(ctx) })
	}
	return running.Wait
}

// failpoints are all that this program knows.
func failpoints() []string {
	return append(append(rebuildPoints(), checkout.Points()...), fulfil.BeforeCommit, fulfil.AfterCommit, fulfil.BeforeAck, fulfil.ReleasedInRedis, lifecycle.Expired,
		fulfil.AdjustedWritten, fulfil.AdjustedInRedis, fulfil.AdjustedFinished,
		lifecycle.PaymentStored, lifecycle.LateReserved, lifecycle.PaymentApplied,
		lifecycle.Retired, lifecycle.Cleared, reconcile.Reconciled)
}

// payments are what takes the payment provider's events, and the loops that apply them.
func (p parts) payments(c config, queue *jetqueue.Queue, f *fulfil.Fulfilment, registry prometheus.Registerer,
) (provider httpapi.Provider, loops []func(context.Context)) {
	rows := paymentRows{p.store}
	payments := lifecycle.NewPayments(rows, p.stock, f.ShowOrders, f.ApplyReleases, p.points.Hit, lifecycle.NewPaymentMetrics(registry), p.log)
	receiver := lifecycle.NewReceiver(openPayments(queue, c.fulfil.AckWait), rows, payments)
	provider = httpapi.Provider{Signatures: p.signatures, Inbox: inbox{queue, payments.Repeated}}
	return provider, []func(context.Context){payments.Run, receiver.Run}
}
