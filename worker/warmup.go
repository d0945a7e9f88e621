package main

import (
	"context"
	"log/slog"
	"time"

	"sluice/shared/jetqueue"
	"sluice/shared/pgstore"
	"sluice/shared/redisstock"
	"sluice/shared/service"
)

const (
	warmUpTry   = 5 * time.Second // bounds one try of a phase
	warmUpPause = 500 * time.Millisecond
)

// warmUp passes the phases before a worker is ready. A phase is tried until it
// is done: a store may come up later than its workers.
type warmUp struct {
	log                                        *slog.Logger
	config, postgres, redis, stream, catalogue *service.Phase
}

func newWarmUp(health *service.Health, log *slog.Logger) *warmUp {
	return &warmUp{
		log:    log,
		config: health.Phase("config"), postgres: health.Phase("postgres"), redis: health.Phase("redis"),
		stream: health.Phase("stream"), catalogue: health.Phase("catalogue"),
	}
}

// connect passes every phase but the catalogue, and returns the connection to
// the stream. It fails only when ctx ends.
func (w *warmUp) connect(ctx context.Context, store *pgstore.Store, stock *redisstock.Client, cfg jetqueue.Config) (*jetqueue.Queue, error) {
	w.config.Done()
	if err := w.pass(ctx, "postgres", w.postgres, store.CheckSchema); err != nil {
		return nil, err
	}
	if err := w.pass(ctx, "redis", w.redis, stock.LoadScripts); err != nil {
		return nil, err
	}
	var queue *jetqueue.Queue
	err := w.pass(ctx, "stream", w.stream, func(ctx context.Context) (err error) {
		if queue == nil {
			if queue, err = jetqueue.Connect(ctx, cfg); err != nil {
				return err
			}
		}
		return queue.Ready(ctx)
	})
	if err != nil && queue != nil {
		queue.Close()
	}
	return queue, err
}

func (w *warmUp) pass(ctx context.Context, name string, phase *service.Phase, try func(context.Context) error) error {
	for told := false; ; {
		bounded, cancel := context.WithTimeout(ctx, warmUpTry)
		err := try(bounded)
		cancel()
		if err == nil {
			phase.Done()
			return nil
		}
		phase.Fail(err)
		if !told {
			w.log.Warn("warm-up waits", "phase", name, "error", err)
			told = true
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(warmUpPause):
		}
	}
}
