// Command gateway takes buyers' attempts through the funnel and answers polls of
// their tickets. It touches Redis and JetStream, never Postgres.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/valyala/fasthttp"
	"sluice/gateway/internal/catalog"
	"sluice/gateway/internal/funnel"
	"sluice/gateway/internal/httpapi"
	"sluice/shared/auth"
	"sluice/shared/failpoint"
	"sluice/shared/jetqueue"
	"sluice/shared/redisstock"
	"sluice/shared/service"
)

// shutdownTimeout bounds how long requests in flight may take to finish.
const shutdownTimeout = 10 * time.Second

func main() { service.Main("gateway", run) }

func run(ctx context.Context, args []string, getenv func(string) string, _, stderr io.Writer) error {
	c, err := parse(args, getenv)
	if err != nil {
		return err
	}
	log, err := service.NewLogger(stderr, "gateway", c.logLevel)
	if err != nil {
		return err
	}
	points, err := failpoint.Load(getenv, log, funnel.PointReserved, funnel.PointHandedOver)
	if err != nil {
		return err
	}
	verifier, signer, err := newKeys(c)
	if err != nil {
		return err
	}
	stock, err := redisstock.Open(redisstock.Config{URL: c.redisURL, PoolSize: c.redisPool, Timeout: c.redisTimeout})
	if err != nil {
		return service.UsageErrorf("-redis-url (SLUICE_REDIS_URL): %v", err)
	}
	defer stock.Close()

	sales := catalog.New()
	health := service.NewHealth(time.Now)
	warm := newWarmUp(health, c, sales, stock)
	registry := service.NewRegistry()
	ops, err := service.NewOps(c.opsListen, health, registry)
	if err != nil {
		return err
	}
	exits := funnel.NewExits(registry)

	defer serveOps(ops, log)()

	queue, err := warm.connect(ctx, jetqueue.Config{URL: c.natsURL, Name: "sluice-gateway", Log: log})
	if err != nil {
		return ended(ctx, err)
	}
	defer queue.Close()
	follow := newFollowers(sales, stock, queue, c.refresh, log)
	defer follow.stop()
	if err := warm.catalogue(ctx, follow); err != nil {
		return ended(ctx, err)
	}

	f := funnel.New(c.funnel, funnel.Parts{Stock: stock, Queue: queue, Verifier: verifier, Failpoints: points, Exits: exits, Log: log})
	defer f.Close()
	api := httpapi.New(httpapi.Parts{Catalog: sales, Funnel: f, Exits: exits, Tickets: stock, Verifier: verifier, Signer: signer,
		ReadTimeout: 2 * c.redisTimeout, Log: log})
	return serve(ctx, c, httpapi.NewServer(api, c.maxConnections), health, warm, log)
}

// newKeys prepares what verifies tokens and what signs tickets.
func newKeys(c config) (*auth.Verifier, *auth.TicketSigner, error) {
	verifier, err := auth.NewVerifier(auth.VerifierConfig{
		HS256Keys: [][]byte{[]byte(c.jwtKey)}, Issuer: c.jwtIssuer, Audience: c.jwtAudience, Leeway: 5 * time.Second})
	if err != nil {
		return nil, nil, err
	}
	signer, err := auth.NewTicketSigner([]byte(c.ticketKey))
	return verifier, signer, err
}

// serve answers buyers until ctx ends, then drains: unready first, serve on, finish.
func serve(ctx context.Context, c config, server *fasthttp.Server, health *service.Health, warm *warmUp, log *slog.Logger) error {
	listener, err := net.Listen("tcp", c.listen)
	if err != nil {
		return fmt.Errorf("cannot listen on %s (flag -listen): %w", c.listen, err)
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	warm.listening.Done()
	log.Info("gateway serves", "address", listener.Addr().String())
	select {
	case err := <-failed:
		return fmt.Errorf("cannot serve on %s: %w", c.listen, err)
	case <-ctx.Done():
	}
	health.Drain()
	log.Info("gateway drains", "seconds", c.drain.Seconds())
	time.Sleep(c.drain)
	deadline, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if err := server.ShutdownWithContext(deadline); err != nil {
		return fmt.Errorf("cannot finish requests in flight: %w", err)
	}
	return <-failed
}

// serveOps starts the ops listener and returns what stops it.
func serveOps(ops *service.Ops, log *slog.Logger) (stop func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := ops.Serve(); err != nil {
			log.Error("ops listener failed", "error", err)
		}
	}()
	return func() {
		if err := ops.Close(); err != nil {
			log.Warn("ops listener not closed", "error", err)
		}
		<-done
	}
}

// ended turns the end of a warm-up that was asked to stop into a clean exit.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
