package main

import (
	"context"
	"fmt"
	"sync"

	"sluice/shared/backlog"
	"sluice/shared/sale"
)

// followers keep what the gateway knows current for as long as it lives: entries
// and hints from NATS, snapshots and its own view of the stores.
type followers struct {
	replayed chan struct{}   // closed once the catalogue was read whole
	reading  backlog.Reading // of sales
	cancel   context.CancelFunc
	owned    sync.WaitGroup
}

// follow starts the followers. A hint that cannot be subscribed to is an error; a
// catalogue that can no longer be followed ends the gateway.
func (g *gateway) follow(end func(error)) (*followers, error) {
	ctx, cancel := context.WithCancel(context.Background())
	f := &followers{replayed: make(chan struct{}), cancel: cancel, reading: backlog.Reading{Redis: g.stock, Watch: g.backlog}}
	hints := []func() (func(), error){
		func() (func(), error) { return g.queue.SubscribeProgress(g.sales.Progress) },
		func() (func(), error) { return g.queue.SubscribeSnapshots(g.heard) },
		func() (func(), error) { return g.queue.SubscribeResults(g.waiters.Wake) },
	}
	for _, subscribe := range hints {
		unsubscribe, err := subscribe()
		if err != nil {
			f.stop()
			return nil, err
		}
		f.owned.Go(func() {
			<-ctx.Done()
			unsubscribe()
		})
	}
	f.owned.Go(func() {
		if err := g.queue.Watch(ctx, g.announced, func() { close(f.replayed) }); ctx.Err() == nil {
			end(fmt.Errorf("cannot follow the catalogue: %w", err))
		}
	})
	f.owned.Go(func() { g.sales.Refresh(ctx, f.reading, g.config.refresh, g.config.forgetAfter, g.log) })
	f.owned.Go(func() { g.backlog.Run(ctx) })
	return f, nil
}

// announced takes an entry of the catalogue in.
func (g *gateway) announced(e sale.Entry) {
	g.sales.Apply(e)
	g.backlog.Apply(e)
}

// heard takes a broadcast in, unless it is to be lost.
func (g *gateway) heard(s sale.Snapshot) {
	if g.points.Hit(pointHeard) == nil {
		g.sales.Hear(s)
	}
}

func (f *followers) stop() {
	f.cancel()
	f.owned.Wait()
}
