package main

import (
	"context"
	"sync"
)

// followers keep what the gateway knows current for as long as it lives: entries
// and hints from NATS, snapshots and its own view of the stores.
type followers struct {
	replayed chan struct{} // closed once the catalogue was read whole
	cancel   context.CancelFunc
	owned    sync.WaitGroup
}

func (g *gateway) follow() *followers {
	ctx, cancel := context.WithCancel(context.Background())
	f := &followers{replayed: make(chan struct{}), cancel: cancel}
	f.owned.Go(func() {
		err := g.queue.Watch(ctx, g.sales.Apply, func() { close(f.replayed) })
		if ctx.Err() == nil {
			g.log.Error("catalogue no longer followed", "error", err)
		}
	})
	f.owned.Go(func() { g.sales.Refresh(ctx, g.stock, g.config.refresh, g.log) })
	f.owned.Go(func() { newDependencies(g).watch(ctx) })
	g.hear(ctx, f, "progress", func() (func(), error) { return g.queue.SubscribeProgress(g.sales.Progress) })
	g.hear(ctx, f, "snapshots", func() (func(), error) { return g.queue.SubscribeSnapshots(g.sales.Hear) })
	g.hear(ctx, f, "results", func() (func(), error) { return g.queue.SubscribeResults(g.waiters.Wake) })
	return f
}

// hear follows hints until ctx ends. Without them everything works, later.
func (g *gateway) hear(ctx context.Context, f *followers, what string, subscribe func() (stop func(), err error)) {
	unsubscribe, err := subscribe()
	if err != nil {
		g.log.Error("hints not followed", "hints", what, "error", err)
		return
	}
	f.owned.Go(func() {
		<-ctx.Done()
		unsubscribe()
	})
}

func (f *followers) stop() {
	f.cancel()
	f.owned.Wait()
}
