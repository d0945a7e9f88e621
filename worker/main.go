// Command worker turns hand-overs into orders, shows them on tickets, applies
// releases, sweeps reservations that were never handed over, takes payments, expires
// orders that nobody pays for, answers buyers about their orders and cancels them, and
// lets operators see and change sales.
package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/shared/auth"
	"sluice/shared/backlog"
	"sluice/shared/failpoint"
	"sluice/shared/jetqueue"
	"sluice/shared/pgstore"
	"sluice/shared/redisstock"
	"sluice/shared/service"
	"sluice/worker/internal/adminapi"
	"sluice/worker/internal/checkout"
	"sluice/worker/internal/console"
	"sluice/worker/internal/fulfil"
	"sluice/worker/internal/httpapi"
	"sluice/worker/internal/lifecycle"
)

const flushTimeout = 2 * time.Second

// redisWait is for a connection to Redis when all are busy. Nobody waits for a worker's
// calls as buyers do for a gateway's, and one that gives up is made again, and more of it.
const redisWait = time.Second

var errNATSClosed = errors.New("the connection to NATS is closed for good")

// gcPercent lets the heap grow to four times what lives in it, which is little beside
// what an order leaves behind: collecting took a fifth of a worker's CPU time. GOGC, when
// it is set, has the word.
const gcPercent = 300

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	service.Main("worker", run)
}

func run(ctx context.Context, args []string, getenv func(string) string, _, stderr io.Writer) error {
	c, err := parse(args, getenv)
	if err != nil {
		return err
	}
	log, err := service.NewLogger(stderr, "worker", c.logLevel)
	if err != nil {
		return err
	}
	points, err := failpoint.Load(getenv, log, failpoints()...)
	if err != nil {
		return err
	}
	verifier, err := c.tokens.Open(log)
	if err != nil {
		return err
	}
	signatures, err := c.signatures(log)
	if err != nil {
		return err
	}
	primary := pgstore.NewPrimary() // what one pool hears of a failover, all do
	store, err := pgstore.Open(ctx, pgstore.Config{URL: c.postgresURL, MaxConns: int32(c.postgresConns), StatementTimeout: c.statement, Checked: true, Primary: primary})
	if err != nil {
		return service.UsageErrorf("-postgres-url (SLUICE_POSTGRES_URL): %v", err)
	}
	defer store.Close()
	buyers, err := pgstore.Open(ctx, pgstore.Config{URL: c.postgresURL, MaxConns: int32(c.buyerConns), StatementTimeout: c.statement, Checked: true, Primary: primary,
		BeforeCommit: checkout.Decided(points.Hit)})
	if err != nil {
		return err
	}
	defer buyers.Close()
	operators, err := pgstore.Open(ctx, pgstore.Config{URL: c.postgresURL, MaxConns: int32(c.operatorConns), StatementTimeout: c.statement, Checked: true, Primary: primary})
	if err != nil {
		return err
	}
	defer operators.Close()
	stock, err := redisstock.Open(redisstock.Config{URL: c.redisURL, PoolSize: c.redisPool, Timeout: c.redisTimeout, Wait: redisWait})
	if err != nil {
		return service.UsageErrorf("-redis-url (SLUICE_REDIS_URL): %v", err)
	}
	defer stock.Close()
	heal, err := openHealing(ctx, c, primary)
	if err != nil {
		return err
	}
	defer heal.close()
	return serve(ctx, c, parts{points: points, verifier: verifier, signatures: signatures, store: store, buyers: buyers,
		operators: operators, stock: stock, heal: heal, log: log})
}

// parts are what a worker works with, beside the connection to the stream.
type parts struct {
	points     *failpoint.Set
	verifier   *service.Tokens
	signatures *auth.WebhookVerifier
	store      *pgstore.Store // for orders
	buyers     *pgstore.Store // for what buyers ask: it must not take the orders' connections
	operators  *pgstore.Store // for what operators ask, for the same reason
	stock      *redisstock.Client
	heal       healing
	log        *slog.Logger
}

// serve warms up, then fulfils and answers buyers until ctx ends.
func serve(ctx context.Context, c config, p parts) error {
	health := service.NewHealth(time.Now)
	warm := newWarmUp(health, p)
	registry := service.NewRegistry()
	dependencies := service.NewDependencies(registry, p.probes(warm.nats.Ask))
	ops, admin, page, err := openOps(c, health, registry, p.log)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	stopOps := ops.Start(func(err error) { end(err) })
	defer stopOps()
	defer dependencies.Start()()
	defer p.verifier.Start(registry)()
	defer context.AfterFunc(ctx, health.Drain)()
	measures := lifecycle.NewMetrics(registry)
	upkeep := lifecycle.NewUpkeep(measures, p.log)
	queue, stopComparing, err := warm.connect(ctx, registry, jetqueue.Config{
		URL: c.natsURL, Name: "sluice-worker", Log: p.log, OnClosed: func() { end(errNATSClosed) }, OnReconnected: upkeep.Poke,
	})
	if err != nil {
		return ended(ctx, err)
	}
	defer queue.Close()
	defer stopComparing()
	waiting := newBacklog(c, queue, registry, p.log)
	pacer := newPacer(c, waiting, registry)
	f := fulfil.New(c.fulfil, storesOf(p.store, p.stock, queue, waiting, c.fulfil.AckWait), pacer, fulfil.NewMetrics(registry), p.points.Hit, p.log)
	reconciler := newReconciler(c, p, queue, registry)
	seen := storesOfOperators(p.operators, p.stock, queue, f, pacer, reconciler, p.points.Hit, p.log)
	watch := newAlerts(c, p, waiting, pacer, measures, dependencies, registry)
	seen.Backlog, seen.Promise, seen.Alerts = waiting, c.promise, watch
	admin.Open(seen)
	provider, takePayments := p.payments(c, queue, f, registry)
	checkouts, moveCoupons := p.coupons(c, registry)
	listener, err := p.listen(c, f.ApplyReleases, provider, checkouts, registry)
	if err != nil {
		return err
	}
	defer serveBuyers(ctx, listener, c.drain, func(err error) { end(err) }, p.log)()
	defer end(nil) // before the wait for buyers, whatever ends fulfilment

	running := append(p.loops(c, queue, f, upkeep, reconciler, measures, registry), takePayments...)
	running = append(running, moveCoupons, waiting.Run, p.pauses(pacer), watch.Run, shownOnCall(page, c, p, waiting, pacer, watch))
	defer runAll(ctx, running)()
	defer end(nil) // before the wait for the loops
	p.log.Info("worker serves", "address", listener.Addr(), "ops", ops.Addr())
	err = f.Run(ctx, warm.catalogue.Done)
	flush(queue, p.log)
	p.log.Info("worker ends")
	return ended(ctx, err)
}

// probes ask every store whether it answers, and Postgres whether it is worked with.
func (p parts) probes(nats func(context.Context) error) map[string]func(context.Context) error {
	probes := p.stock.Probes()
	probes["nats"], probes["postgres"], probes["postgres_compared"] = nats, p.postgresAnswers, p.postgresCompared
	return probes
}

// openOps takes the address of the ops listener. The admin API on it says that the
// worker is starting until it is opened, and so does the console until it runs.
func openOps(c config, health *service.Health, registry *prometheus.Registry, log *slog.Logger) (*service.Ops, *adminapi.API, *console.Console, error) {
	ops, err := service.NewOps(c.opsListen, health, registry)
	if err != nil {
		return nil, nil, nil, err
	}
	ops.GuardProfiles(c.adminToken)
	admin := adminapi.New(c.adminToken, log)
	ops.Handle("/admin/", admin)
	ops.Handle("/openapi.yaml", httpapi.Description())
	page, err := openConsole(ops, c, log)
	return ops, admin, page, err
}

func storesOf(store *pgstore.Store, stock *redisstock.Client, queue *jetqueue.Queue, waiting *backlog.Watch, ackWait time.Duration) fulfil.Stores {
	return fulfil.Stores{
		Catalogue: watchedCatalogue{queue, waiting},
		Consume:   openSource(queue, ackWait),
		Orders:    rows{store},
		Releases:  rows{store},
		Shown:     rows{store},
		Adjusted:  rows{store},
		Stock:     watchedStock{stock, waiting},
		HandOvers: queue,
		Hints:     queue,
	}
}

// flush sends the last acknowledgements. What is lost comes again and is known.
func flush(queue *jetqueue.Queue, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	if err := queue.Flush(ctx); err != nil {
		log.Warn("flush failed", "error", err)
	}
}

// ended turns the end of a process that was asked to stop into a clean exit.
func ended(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case cause == nil:
		return err
	case errors.Is(cause, context.Canceled):
		return nil
	default:
		return cause
	}
}
