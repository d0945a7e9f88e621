// Command gateway takes buyers' attempts through the funnel and answers polls of
// their tickets. It touches Redis and JetStream, never Postgres.
package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sluice/gateway/internal/catalog"
	"sluice/gateway/internal/funnel"
	"sluice/gateway/internal/httpapi"
	"sluice/gateway/internal/tickets"
	"sluice/gateway/internal/web"
	"sluice/shared/auth"
	"sluice/shared/backlog"
	"sluice/shared/failpoint"
	"sluice/shared/jetqueue"
	"sluice/shared/redisstock"
	"sluice/shared/service"
)

// pointHeard loses a broadcast of another process, when armed with error.
const pointHeard = "gateway.heard"

var errNATSClosed = errors.New("the connection to NATS is closed for good")

func main() { service.Main("gateway", run) }

func run(ctx context.Context, args []string, getenv func(string) string, _, stderr io.Writer) error {
	return runAt(ctx, args, getenv, stderr, time.Now)
}

// runAt is run in a process whose clock is now.
func runAt(ctx context.Context, args []string, getenv func(string) string, stderr io.Writer, now func() time.Time) error {
	c, err := parse(args, getenv)
	if err != nil {
		return err
	}
	log, err := service.NewLogger(stderr, "gateway", c.logLevel)
	if err != nil {
		return err
	}
	g := gateway{config: c, log: log, now: now, sales: catalog.NewAt(now), waiters: tickets.NewWaiters(c.waiters), registry: service.NewRegistry()}
	if g.points, err = failpoint.Load(getenv, log, funnel.PointReserved, funnel.PointHandedOver, pointHeard); err != nil {
		return err
	}
	if err := g.keys(); err != nil {
		return err
	}
	if err := g.openRedis(); err != nil {
		return err
	}
	defer g.stock.Close()
	defer g.reads.Close()
	return g.live(ctx)
}

// live takes the gateway from its warm-up to its drain. It ends early, with an
// error, when a part that it cannot be without ends.
func (g *gateway) live(ctx context.Context) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	health := service.NewHealth(time.Now)
	warm := newWarmUp(health, g)
	probes := g.stock.Probes()
	probes["nats"] = warm.nats.Ask
	dependencies := service.NewDependencies(g.registry, probes)
	ops, err := service.NewOps(g.config.opsListen, health, g.registry)
	if err != nil {
		return err
	}
	ops.GuardProfiles(g.config.identity.adminToken)
	ops.Handle("/admin/v1/ready", newOverride(health, g.config.identity.adminToken, g.log))
	stopOps := ops.Start(func(err error) { end(err) })
	defer stopOps()
	defer dependencies.Start()()
	defer g.verifier.Start(g.registry)()
	g.queue, err = warm.connect(ctx, jetqueue.Config{URL: g.config.natsURL, Name: "sluice-gateway", Log: g.log,
		OnClosed: func() { end(errNATSClosed) }})
	if err != nil {
		return ended(ctx, err)
	}
	defer g.queue.Close()
	g.backlog = backlog.New(g.queue, g.log)
	g.registry.MustRegister(g.backlog.Collector(g.config.promise))
	follow, err := g.follow(end)
	if err != nil {
		return err
	}
	defer follow.stop()
	if err := warm.catalogue(ctx, follow); err != nil {
		return ended(ctx, err)
	}
	f, api, err := g.open()
	if err != nil {
		return err
	}
	defer f.Close()
	return ended(ctx, g.serve(ctx, api, health, warm))
}

// gateway is what a process is wired of.
type gateway struct {
	config   config
	log      *slog.Logger
	now      func() time.Time // this process's clock: nothing is decided by it before it is set by Redis
	points   *failpoint.Set
	registry *prometheus.Registry
	verifier *service.Tokens
	signer   *auth.TicketSigner
	stock    *redisstock.Client // for the funnel
	reads    *redisstock.Client // for tickets: polls must not take the funnel's connections
	queue    *jetqueue.Queue
	sales    *catalog.Catalog
	waiters  *tickets.Waiters
	backlog  *backlog.Watch
}

// keys prepares what verifies tokens and what signs tickets.
func (g *gateway) keys() (err error) {
	if g.verifier, err = g.config.tokens.Open(g.log); err != nil {
		return err
	}
	g.signer, err = auth.NewTicketSigner([]byte(g.config.ticketKey))
	return err
}

func (g *gateway) openRedis() (err error) {
	c := redisstock.Config{URL: g.config.redisURL, PoolSize: g.config.redisPool, MinIdle: g.config.redisPool, Timeout: g.config.redisTimeout}
	if g.stock, err = redisstock.Open(c); err != nil {
		return service.UsageErrorf("-redis-url (SLUICE_REDIS_URL): %v", err)
	}
	c.PoolSize, c.MinIdle = g.config.readPool, g.config.readPool
	g.reads, err = redisstock.Open(c)
	return err
}

// open builds the funnel and the API in front of it.
func (g *gateway) open() (*funnel.Funnel, *httpapi.API, error) {
	address, users, err := g.config.limits.open()
	if err != nil {
		return nil, nil, err
	}
	exits := funnel.NewExits(g.registry)
	funnel.ShowAdmission(g.registry, g.config.funnel)
	reader := tickets.NewReader(g.reads, g.waiters, g.config.readPool, 2*g.config.redisTimeout)
	g.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "sluice_ticket_waiters", Help: "Reads of tickets that wait for news.",
	}, func() float64 { return float64(g.waiters.Waiting()) }), prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "sluice_sales_not_live", Help: "Sales that nobody can buy here: Redis does not hold their announced epoch, or it is being loaded.",
	}, func() float64 { return float64(g.sales.NotLive()) }))
	f := funnel.New(g.config.funnel, funnel.Parts{
		Stock: g.stock, Queue: g.queue, News: g.queue, Outcomes: reader, Verifier: g.verifier, Users: users, Failpoints: g.points,
		Exits: exits, Calls: funnel.NewCalls(g.registry), Log: g.log})
	local := g.config.local.shop(g.config.tokens)
	api := httpapi.New(httpapi.Parts{Page: web.New(local != nil), Local: local,
		Catalog: g.sales, Proxies: g.config.limits.proxies, Address: address, Users: users, Funnel: f, Exits: exits, Tickets: reader, Verifier: g.verifier, UserHeader: g.config.identity.userHeader, Signer: g.signer, Alive: g.config.events.alive, Log: g.log})
	g.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "sluice_sales_known", Help: "Sales that this gateway knows by heart, retired ones too until they are forgotten.",
	}, func() float64 { return float64(g.sales.Len()) }))
	g.sales.Forgotten(f.Forget)
	g.sales.Forgotten(api.Forget)
	return f, api, nil
}

// ended tells an end that was asked for from one that has a cause.
func ended(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
