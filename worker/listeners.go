package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sluice/shared/connections"
	"sluice/worker/internal/httpapi"
	"sluice/worker/internal/merchants"
)

// answersTimeout bounds how long answers in flight may take once the drain is over.
const answersTimeout = 5 * time.Second

// Connections of buyers, order systems and payment providers, mostly those of the proxies in
// front; reservedFiles are the descriptors for stores, operators and logs.
const (
	usualConnections = 2_000
	reservedFiles    = 256
)

// listen takes the address of the listener for buyers and order systems. release has new
// releases applied at once.
func (p parts) listen(c config, release func(), provider httpapi.Provider, calls httpapi.Checkout, reg prometheus.Registerer) (*httpapi.Server, error) {
	places := connections.New(connections.Config{Most: c.maxConnections, Full: httpapi.RefusedConnection()}, reg)
	return httpapi.Listen(c.listen, places, httpapi.New(httpapi.Backing{
		Verifier: p.verifier, Orders: buyersOrders{p.buyers, release}, Provider: provider, Merchants: merchants.New(p.buyers, time.Now),
		Coupons: p.buyers, Checkout: calls, Now: time.Now,
	}, p.log), p.log)
}

// serveBuyers answers buyers until ctx has ended and drain has passed, then
// finishes answers in flight; wait returns after that. When it cannot serve it
// calls fail, which must end ctx.
func serveBuyers(ctx context.Context, server *httpapi.Server, drain time.Duration, fail func(error), log *slog.Logger) (wait func()) {
	served, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(served)
		if err := server.Serve(); err != nil {
			fail(err)
		}
	}()
	go func() {
		defer close(done)
		<-ctx.Done()
		time.Sleep(drain) // whoever sends traffic here needs time to see that it is unready
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), answersTimeout)
		defer cancel()
		if err := server.Close(bounded); err != nil {
			log.Warn("listener not closed", "error", err)
		}
		<-served
	}()
	return func() { <-done }
}
