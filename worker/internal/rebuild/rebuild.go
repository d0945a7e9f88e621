package rebuild

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/shared/load"
	"sluice/shared/sale"
	"sluice/shared/service"
)

const (
	lookEvery   = time.Second            // how long a loss may go unnoticed
	lookAgain   = 100 * time.Millisecond // before the second look, which decides
	lookWithin  = 5 * time.Second        // of one round's read
	checkWithin = 2 * time.Second        // of one sale's look: others wait for their turn
	firstRetry  = time.Second            // after a run that failed
	lastRetry   = 15 * time.Second
	forgetAfter = time.Minute // a run this long ago no longer counts for the next retry
	// After a run that another one has overtaken: longer than most rebuilds take.
	overtakenPause = 2*sale.AnswersOver + firstRetry
)

// Looking is how many sales are looked at at a time: one whose shard hangs must not keep
// the others. Each look takes a connection to Redis, and no load should wait for it.
const Looking = 8

// Truth is Postgres.
type Truth interface {
	load.Truth
	Entries(ctx context.Context) ([]sale.Entry, error)
	// RequestRebuild begins a rebuild, unless one is under way or the sale has left
	// epoch at; requested says whether it did.
	RequestRebuild(ctx context.Context, saleID string, at, above int64) (e sale.Entry, requested bool, err error)
	// Lock makes the caller the only one that loads the sale, unless another is.
	Lock(ctx context.Context, saleID string) (unlock func(), locked bool, err error)
}

// Rebuilds finds lost sales and rebuilds them.
type Rebuilds struct {
	truth   Truth
	loader  *load.Loader
	room    chan struct{} // holds one for every sale that is being loaded
	metrics *Metrics
	log     *slog.Logger
	poked   chan struct{}

	mu      sync.Mutex
	running map[string]bool
	retries map[string]retry
	runs    sync.WaitGroup
	faults  service.Quiet
}

// retry is when a sale whose run has failed is due again.
type retry struct {
	at    time.Time
	pause time.Duration
}

// New prepares the loop: most is how many sales one worker counts and loads at a time,
// however many wait for their orders; hit is called at every point of a load.
func New(truth Truth, stock load.Stock, queue load.Queue, most int, hit func(point string) error, metrics *Metrics, log *slog.Logger) *Rebuilds {
	r := &Rebuilds{
		truth:   truth,
		room:    make(chan struct{}, most),
		metrics: metrics, log: log, poked: make(chan struct{}, 1),
		running: make(map[string]bool), retries: make(map[string]retry),
	}
	r.loader = &load.Loader{Truth: truth, Stock: stock, Queue: queue, Hit: hit, Log: log, Room: r.enter}
	return r
}

func (r *Rebuilds) enter(ctx context.Context) (leave func(), err error) {
	select {
	case r.room <- struct{}{}:
		return func() { <-r.room }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("no room to load: %w", ctx.Err())
	}
}

// Run looks and rebuilds until ctx ends, and waits for what it has begun: that is
// broken off, for another worker to take up.
func (r *Rebuilds) Run(ctx context.Context) {
	defer r.runs.Wait()
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		if err := r.look(ctx); err != nil && ctx.Err() == nil && r.faults.Allow() {
			r.log.Warn("look for lost sales failed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-r.poked:
		}
	}
}

// look looks at every sale once. One sale's fault does not keep the others.
func (r *Rebuilds) look(ctx context.Context) error {
	read, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	all, err := r.truth.Entries(read)
	if err != nil {
		return err
	}
	rebuilding := 0
	faults := make([]error, len(all))
	var looks errgroup.Group
	looks.SetLimit(Looking)
	for i, e := range all {
		switch {
		case e.Retired || e.Epoch == 0: // gone as it should, or not loaded yet
		case e.Rebuilding:
			rebuilding++
			r.start(ctx, e)
		default:
			looks.Go(func() error {
				faults[i] = r.check(ctx, e)
				return nil
			})
		}
	}
	r.metrics.rebuilding.Set(float64(rebuilding))
	_ = looks.Wait() // the faults are told together
	return errors.Join(faults...)
}

// check requests the rebuild of a sale that Postgres says is live and Redis does not
// have. It went live in Redis before Postgres said so, so one look would do; the second
// one is for a server that is just being replaced by another.
func (r *Rebuilds) check(ctx context.Context, e sale.Entry) error {
	ctx, cancel := context.WithTimeout(ctx, checkWithin)
	defer cancel()
	for look := 0; ; look++ {
		snapshot, _, err := r.loader.Stock.Snapshot(ctx, e.ID, e.Epoch)
		if !errors.Is(err, sale.ErrStale) {
			return nil // it is there, or nobody knows: calls of a Redis that is down are counted elsewhere
		}
		if look > 0 {
			return r.request(ctx, e, snapshot)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookAgain):
		}
	}
}

func (r *Rebuilds) request(ctx context.Context, e sale.Entry, snapshot sale.Snapshot) error {
	next, requested, err := r.truth.RequestRebuild(ctx, e.ID, e.Epoch, snapshot.Epoch)
	if err != nil || !requested {
		return err
	}
	why := "its keys, or the process that made it live, are gone"
	if snapshot.Epoch != e.Epoch {
		why = "redis has another epoch, or none"
	}
	r.metrics.requested.Inc()
	r.log.Error("sale is lost in redis, rebuild requested", "sale", e.ID, "why", why,
		"epoch", e.Epoch, "redis_epoch", snapshot.Epoch, "next_epoch", next.Epoch)
	r.poke()
	return nil
}

func (r *Rebuilds) poke() {
	select {
	case r.poked <- struct{}{}:
	default: // it will look anyway
	}
}
