// Command gateway takes buyers' attempts through the funnel and answers polls of
// their tickets. It touches Redis and JetStream, never Postgres.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sluice/gateway/internal/catalog"
	"sluice/gateway/internal/funnel"
	"sluice/gateway/internal/httpapi"
	"sluice/gateway/internal/tickets"
	"sluice/shared/auth"
	"sluice/shared/failpoint"
	"sluice/shared/jetqueue"
	"sluice/shared/redisstock"
	"sluice/shared/service"
)

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
	g := gateway{config: c, log: log, sales: catalog.New(), waiters: tickets.NewWaiters(c.waiters), registry: service.NewRegistry()}
	if g.points, err = failpoint.Load(getenv, log, funnel.PointReserved, funnel.PointHandedOver); err != nil {
		return err
	}
	if err := g.keys(); err != nil {
		return err
	}
	if g.stock, err = redisstock.Open(redisstock.Config{URL: c.redisURL, PoolSize: c.redisPool, Timeout: c.redisTimeout}); err != nil {
		return service.UsageErrorf("-redis-url (SLUICE_REDIS_URL): %v", err)
	}
	defer g.stock.Close()

	health := service.NewHealth(time.Now)
	warm := newWarmUp(health, c, g.sales, g.stock)
	ops, err := service.NewOps(c.opsListen, health, g.registry)
	if err != nil {
		return err
	}
	defer serveOps(ops, log)()
	if g.queue, err = warm.connect(ctx, jetqueue.Config{URL: c.natsURL, Name: "sluice-gateway", Log: log}); err != nil {
		return ended(ctx, err)
	}
	defer g.queue.Close()
	follow := g.follow()
	defer follow.stop()
	if err := warm.catalogue(ctx, follow); err != nil {
		return ended(ctx, err)
	}
	f, api, err := g.open()
	if err != nil {
		return err
	}
	defer f.Close()
	return g.serve(ctx, api, health, warm)
}

// gateway is what a process is wired of.
type gateway struct {
	config   config
	log      *slog.Logger
	points   *failpoint.Set
	registry *prometheus.Registry
	verifier *auth.Verifier
	signer   *auth.TicketSigner
	stock    *redisstock.Client
	queue    *jetqueue.Queue
	sales    *catalog.Catalog
	waiters  *tickets.Waiters
}

// keys prepares what verifies tokens and what signs tickets.
func (g *gateway) keys() (err error) {
	g.verifier, err = auth.NewVerifier(auth.VerifierConfig{HS256Keys: [][]byte{[]byte(g.config.jwtKey)},
		Issuer: g.config.jwtIssuer, Audience: g.config.jwtAudience, Leeway: 5 * time.Second})
	if err != nil {
		return err
	}
	g.signer, err = auth.NewTicketSigner([]byte(g.config.ticketKey))
	return err
}

// open builds the funnel and the API in front of it.
func (g *gateway) open() (*funnel.Funnel, *httpapi.API, error) {
	address, err := funnel.NewAddressLimit(g.config.address)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot limit addresses: %w", err)
	}
	exits := funnel.NewExits(g.registry)
	reader := tickets.NewReader(g.stock, g.waiters, 2*g.config.redisTimeout)
	g.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "sluice_ticket_waiters", Help: "Reads of tickets that wait for news.",
	}, func() float64 { return float64(g.waiters.Waiting()) }))
	f := funnel.New(g.config.funnel, funnel.Parts{
		Stock: g.stock, Queue: g.queue, News: g.queue, Outcomes: reader, Verifier: g.verifier, Failpoints: g.points,
		Exits: exits, Calls: funnel.NewCalls(g.registry), Log: g.log})
	api := httpapi.New(httpapi.Parts{
		Catalog: g.sales, Address: address, Funnel: f, Exits: exits, Tickets: reader, Verifier: g.verifier, Signer: g.signer, Log: g.log})
	return f, api, nil
}

// ended turns the end of a warm-up that was asked to stop into a clean exit.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
