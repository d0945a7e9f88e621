package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"sluice/gateway/internal/catalog"
	"sluice/shared/jetqueue"
	"sluice/shared/redisstock"
)

// followers keep the catalogue current for as long as the gateway lives: entries
// and progress from NATS, snapshots from Redis.
type followers struct {
	replayed chan struct{} // closed once the catalogue was read whole
	cancel   context.CancelFunc
	owned    sync.WaitGroup
}

func newFollowers(sales *catalog.Catalog, stock *redisstock.Client, queue *jetqueue.Queue, period time.Duration, log *slog.Logger) *followers {
	ctx, cancel := context.WithCancel(context.Background())
	f := &followers{replayed: make(chan struct{}), cancel: cancel}
	f.owned.Go(func() {
		err := queue.Watch(ctx, sales.Apply, func() { close(f.replayed) })
		if ctx.Err() == nil {
			log.Error("catalogue no longer followed", "error", err)
		}
	})
	f.owned.Go(func() {
		unsubscribe, err := queue.SubscribeProgress(sales.Progress)
		if err != nil {
			log.Error("progress not followed", "error", err)
			return
		}
		<-ctx.Done()
		unsubscribe()
	})
	f.owned.Go(func() { sales.Refresh(ctx, stock, period, log) })
	return f
}

func (f *followers) stop() {
	f.cancel()
	f.owned.Wait()
}
