package fulfil

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"sluice/shared/sale"
	"sluice/worker/internal/pacing"
)

// MaxBatch is the most reservations that one order transaction decides.
const MaxBatch = pacing.MaxBatch

// callTimeout bounds one call to Redis or JetStream. Postgres calls carry a
// bound of their own, which fits their size.
const callTimeout = 2 * time.Second

// Config is what a Fulfilment can be told.
type Config struct {
	AckWait    time.Duration // after which a dead worker's hand-overs are delivered again
	SweepAfter time.Duration // age in handoff after which a reservation is handed over again
	StopWithin time.Duration // bounds the end of the work in hand once Run's context has ended
	Consumers  int           // most order transactions in flight
	Looks      int           // most looks at Redis under way, of all sales, each a connection
}

// Stores are the adapters that the roles use.
type Stores struct {
	Catalogue interface {
		// Watch calls changed with every entry, then replayed, then changed with
		// every newer entry, until ctx ends.
		Watch(ctx context.Context, changed func(sale.Entry), replayed func()) error
	}
	Consume   func(ctx context.Context, saleID string) (Source, error) // opens the consumer of a sale
	Orders    orders
	Releases  releaseRows
	Shown     shownRows
	Adjusted  adjustmentRows
	Stock     stock
	HandOvers stream
	Hints     hints
}

// stock is a sale's state in Redis.
type stock interface {
	settler
	releaser
	adjuster
	handOffList
	snapshots
	ticketList
}

// stream keeps hand-overs.
type stream interface {
	publisher
	position
}

// hints tell subscribers what happened; they may be lost.
type hints interface {
	resultHints
	progressHints
	newsHints
}

// Fulfilment runs every role for every sale.
type Fulfilment struct {
	cfg      Config
	stores   Stores
	pacer    *pacing.Pacer
	worker   string // names this process among the workers
	metrics  *Metrics
	hit      func(failpoint string) error
	log      *slog.Logger
	releases *owed[PendingRelease]
	shown    *owed[Unshown]
	serving  serving
	looks    places // of sweepers, progress and lost
	scans    places // of lost

	adjusting   *adjustments
	adjustments *owed[PendingAdjustment]
}

// Failpoints that hit is called with.
const (
	BeforeCommit = "worker.before_commit"
	AfterCommit  = "worker.after_commit" // the orders are committed, the tickets not settled
	BeforeAck    = "worker.before_ack"
)

// New prepares a Fulfilment. hit is called at every failpoint; its error counts
// as a fault of the moment.
func New(cfg Config, stores Stores, pacer *pacing.Pacer, metrics *Metrics, hit func(failpoint string) error, log *slog.Logger) *Fulfilment {
	adjusting := &adjustments{rows: stores.Adjusted, stock: stores.Stock, hints: stores.Hints, hit: hit, log: log}
	return &Fulfilment{
		cfg: cfg, stores: stores, pacer: pacer, worker: rand.Text(), metrics: metrics, hit: hit, log: log,
		releases: newReleases(stores.Releases, stores.Stock, stores.Hints, hit, metrics, log),
		shown:    newShown(stores.Shown, stores.Stock, stores.Hints, metrics, log),
		looks:    newPlaces(cfg.Looks), scans: newPlaces(scansAtOnce),

		adjusting: adjusting, adjustments: newAdjustments(adjusting),
	}
}

// ApplyReleases has the releases that were just written applied at once, by Run.
func (f *Fulfilment) ApplyReleases() { f.releases.poke() }

// LookForLost has every sale's reservations looked through soon, because the stream may
// have lost some of them.
func (f *Fulfilment) LookForLost() {
	for _, w := range f.serving.all() {
		w.lost.poke()
	}
}

// ShowOrders has the orders that were just paid shown on their tickets at once, by Run.
func (f *Fulfilment) ShowOrders() { f.shown.poke() }

// Run fulfils until ctx ends; replayed is called once the catalogue is known.
// It then stops pulling, finishes what is in hand, and returns nil.
func (f *Fulfilment) Run(ctx context.Context, replayed func()) error {
	work, drop := lingering(ctx, f.cfg.StopWithin)
	defer drop()
	defer f.startPacer()()
	var running sync.WaitGroup
	defer running.Wait()
	pulling, stop := context.WithCancel(ctx)
	defer stop()
	running.Go(func() { f.releases.run(pulling) })
	running.Go(func() { f.shown.run(pulling) })
	running.Go(func() { f.adjustments.run(pulling) })
	sales := &sales{fulfilment: f, ctx: pulling, work: work, running: &running, workers: map[string]*saleWorker{}}
	err := f.stores.Catalogue.Watch(pulling, sales.changed, replayed)
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("cannot watch the catalogue: %w", err)
}

// startPacer has the pacer run until stop is called: whoever finishes what is in hand needs it.
func (f *Fulfilment) startPacer() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { f.pacer.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

// lingering derives a context for work in hand: it ends grace after ctx does.
func lingering(ctx context.Context, grace time.Duration) (work context.Context, cancel context.CancelFunc) {
	work, end := context.WithCancel(context.WithoutCancel(ctx))
	var timer *time.Timer
	started := make(chan struct{})
	forget := context.AfterFunc(ctx, func() {
		timer = time.AfterFunc(grace, end)
		close(started)
	})
	return work, func() {
		if !forget() {
			<-started
			timer.Stop()
		}
		end()
	}
}
