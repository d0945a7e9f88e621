package main

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/shared/jetqueue"
	"sluice/shared/service"
)

// warmUp passes the phases before a worker is ready. A phase is tried until it
// is done: a store may come up later than its workers.
type warmUp struct {
	parts
	postgres, redis, stream, checked, catalogue *service.Phase

	nats jetqueue.Probe
}

func newWarmUp(health *service.Health, p parts) *warmUp {
	health.Phase("config").Done()
	return &warmUp{
		parts:    p,
		postgres: health.Phase("postgres"), redis: health.Phase("redis"),
		stream: health.Phase("stream"), checked: health.Phase("comparison"), catalogue: health.Phase("catalogue"),
	}
}

// connect passes every phase but the catalogue, and returns the connection to the
// stream, and what ends the comparing of Postgres. It fails only when ctx ends.
func (w *warmUp) connect(ctx context.Context, registry prometheus.Registerer, cfg jetqueue.Config) (queue *jetqueue.Queue, stopComparing func(), err error) {
	if err := w.postgres.Until(ctx, w.log, w.heal.unchecked.CheckSchema); err != nil {
		return nil, nil, err
	}
	if err := w.redis.Until(ctx, w.log, w.stock.LoadScripts); err != nil {
		return nil, nil, err
	}
	err = w.stream.Until(ctx, w.log, func(ctx context.Context) (err error) {
		if queue == nil {
			if queue, err = jetqueue.Connect(ctx, cfg); err != nil {
				return err
			}
			w.nats.Connected(queue)
		}
		if err := queue.Ready(ctx); err != nil {
			return err
		}
		return queue.PaymentsReady(ctx)
	})
	if err == nil {
		if stopComparing, err = w.compare(ctx, queue, registry); err == nil {
			return queue, stopComparing, nil
		}
	}
	if queue != nil {
		queue.Close()
	}
	return nil, nil, err
}
