package main

import (
	"context"
	"errors"

	"sluice/shared/jetqueue"
	"sluice/shared/service"
)

// warmUp takes the gateway through its phases, each tried until it is done.
type warmUp struct {
	*gateway
	redisUp, dialled, natsUp, stream, replay, loaded, listening *service.Phase

	nats jetqueue.Probe
}

func newWarmUp(h *service.Health, g *gateway) *warmUp {
	h.SaleReady = g.sales.SaleReady
	h.Phase("config").Done()
	return &warmUp{
		gateway: g,
		redisUp: h.Phase("redis"), dialled: h.Phase("connections"), natsUp: h.Phase("nats"), stream: h.Phase("stream"),
		replay: h.Phase("catalogue"), loaded: h.Phase("sales"), listening: h.Phase("listening"),
	}
}

// connect reaches Redis, with the scripts loaded and connections dialled, and NATS, with the stream there.
// It fails only when ctx ends.
func (w *warmUp) connect(ctx context.Context, c jetqueue.Config) (*jetqueue.Queue, error) {
	err := w.redisUp.Until(ctx, w.log, func(ctx context.Context) error {
		return errors.Join(w.stock.LoadScripts(ctx), w.sales.Measure(ctx, w.stock))
	})
	if err != nil {
		return nil, err
	}
	err = w.dialled.Until(ctx, w.log, func(ctx context.Context) error {
		return errors.Join(w.stock.Dialled(ctx), w.reads.Dialled(ctx))
	})
	if err != nil {
		return nil, err
	}
	var queue *jetqueue.Queue
	err = w.natsUp.Until(ctx, w.log, func(ctx context.Context) (err error) {
		if queue, err = jetqueue.Connect(ctx, c); err == nil {
			w.nats.Connected(queue)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := w.stream.Until(ctx, w.log, queue.Ready); err != nil {
		queue.Close()
		return nil, err
	}
	return queue, nil
}

// catalogue waits until the catalogue was replayed and the sales that are due are
// loaded. It fails only when ctx ends.
func (w *warmUp) catalogue(ctx context.Context, f *followers) error {
	err := w.replay.Until(ctx, w.log, func(ctx context.Context) error {
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
	return w.loaded.Until(ctx, w.log, func(ctx context.Context) error {
		w.sales.ReadUnread(ctx, f.reading, w.log)
		return w.sales.Warm(w.now(), w.config.horizon)
	})
}
