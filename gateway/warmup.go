package main

import (
	"context"
	"errors"
	"time"

	"sluice/gateway/internal/catalog"
	"sluice/shared/jetqueue"
	"sluice/shared/redisstock"
	"sluice/shared/service"
)

const (
	tryEvery   = 300 * time.Millisecond
	tryTimeout = 2 * time.Second
)

// warmUp takes the gateway through its phases. Each is tried until it is done;
// the last error of each is what /readyz?verbose shows.
type warmUp struct {
	config config
	sales  *catalog.Catalog
	stock  *redisstock.Client

	redis, nats, stream, replay, loaded, listening *service.Phase
}

func newWarmUp(h *service.Health, c config, sales *catalog.Catalog, stock *redisstock.Client) *warmUp {
	h.SaleReady = sales.SaleReady
	h.Phase("config").Done()
	return &warmUp{
		config: c, sales: sales, stock: stock,
		redis: h.Phase("redis"), nats: h.Phase("nats"), stream: h.Phase("stream"),
		replay: h.Phase("catalogue"), loaded: h.Phase("sales"), listening: h.Phase("listening"),
	}
}

// connect reaches Redis, with the scripts loaded, and NATS, with the stream there.
func (w *warmUp) connect(ctx context.Context, c jetqueue.Config) (*jetqueue.Queue, error) {
	if err := try(ctx, w.redis, w.stock.LoadScripts); err != nil {
		return nil, err
	}
	var queue *jetqueue.Queue
	err := try(ctx, w.nats, func(ctx context.Context) (err error) {
		queue, err = jetqueue.Connect(ctx, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := try(ctx, w.stream, queue.Ready); err != nil {
		queue.Close()
		return nil, err
	}
	return queue, nil
}

// catalogue waits until the catalogue was replayed and the sales that are due are
// loaded.
func (w *warmUp) catalogue(ctx context.Context, f *followers) error {
	err := try(ctx, w.replay, func(ctx context.Context) error {
		select {
		case <-f.replayed:
			return nil
		case <-ctx.Done():
			return errors.New("the catalogue was not replayed yet")
		}
	})
	if err != nil {
		return err
	}
	return try(ctx, w.loaded, func(ctx context.Context) error {
		for _, s := range w.sales.All() {
			if _, warm := s.Snapshot(); !warm {
				_ = s.Refresh(ctx, w.stock) // Warm says what is missing
			}
		}
		return w.sales.Warm(time.Now(), w.config.horizon)
	})
}

// try repeats a step until it succeeds or ctx ends.
func try(ctx context.Context, phase *service.Phase, step func(context.Context) error) error {
	for {
		once, cancel := context.WithTimeout(ctx, tryTimeout)
		err := step(once)
		cancel()
		if err == nil {
			phase.Done()
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		phase.Fail(err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(tryEvery):
		}
	}
}
