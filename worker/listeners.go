package main

import (
	"context"
	"log/slog"
	"time"

	"sluice/shared/service"
	"sluice/worker/internal/httpapi"
)

// answersTimeout bounds how long answers in flight may take once the drain is over.
const answersTimeout = 5 * time.Second

// serveOps starts the ops listener and returns what stops it.
func serveOps(ops *service.Ops, log *slog.Logger) (stop func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := ops.Serve(); err != nil {
			log.Error("ops failed", "error", err)
		}
	}()
	return func() {
		if err := ops.Close(); err != nil {
			log.Warn("ops not closed", "error", err)
		}
		<-done
	}
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
