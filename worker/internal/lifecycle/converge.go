package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"sluice/shared/sale"
	"sluice/shared/service"
)

const (
	convergeEvery  = 300 * time.Millisecond // how old a change may be before gateways learn of it
	repeatEvery    = 10 * time.Second       // how long a store that lost a change may go unnoticed
	convergeWithin = 5 * time.Second        // of one round's read
	callWithin     = 2 * time.Second        // of one call
	converging     = 8                      // sales at a time: one that hangs must not keep the others
)

// entries are the sales as Postgres has them.
type entries interface {
	Entries(ctx context.Context) ([]sale.Entry, error)
}

// configurer brings an entry to Redis, unless Redis has a newer one.
type configurer interface {
	Configure(ctx context.Context, e sale.Entry) (sale.Snapshot, bool, error)
}

// announcer brings an entry to the catalogue, unless it has a newer one, and tells
// gateways of a sale's new state.
type announcer interface {
	PutEntry(ctx context.Context, e sale.Entry) (changed bool, err error)
	NotifySnapshot(s sale.Snapshot) error
}

// Convergence brings every change of a sale from Postgres to Redis and to the
// catalogue.
type Convergence struct {
	truth     entries
	stock     configurer
	catalogue announcer
	log       *slog.Logger

	mu     sync.Mutex
	done   map[string]progress
	faults service.Quiet
}

// progress is what a sale was last brought to, and when.
type progress struct {
	epoch, rev int64
	at         time.Time
}

// NewConvergence builds the loop.
func NewConvergence(truth entries, stock configurer, catalogue announcer, log *slog.Logger) *Convergence {
	return &Convergence{truth: truth, stock: stock, catalogue: catalogue, log: log, done: make(map[string]progress)}
}

// Run converges until ctx ends.
func (c *Convergence) Run(ctx context.Context) {
	ticker := time.NewTicker(convergeEvery)
	defer ticker.Stop()
	for {
		if err := c.round(ctx); err != nil && ctx.Err() == nil && c.faults.Allow() {
			c.log.Warn("sales not converged", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// round looks at every sale. One sale's fault does not keep the others.
func (c *Convergence) round(ctx context.Context) error {
	read, cancel := context.WithTimeout(ctx, convergeWithin)
	defer cancel()
	all, err := c.truth.Entries(read)
	if err != nil {
		return err
	}
	c.forget(all)
	faults := make([]error, len(all))
	var group errgroup.Group
	group.SetLimit(converging)
	for i, e := range all {
		group.Go(func() error {
			faults[i] = c.bring(ctx, e)
			return nil
		})
	}
	_ = group.Wait() // the faults are told together
	return errors.Join(faults...)
}

func (c *Convergence) bring(ctx context.Context, e sale.Entry) error {
	last := c.last(e.ID)
	same := last.epoch == e.Epoch && last.rev == e.Rev
	if e.Epoch == 0 || same && (e.Retired || time.Since(last.at) < repeatEvery) {
		return nil // not loaded yet, or nothing new; what is retired is about to leave the catalogue
	}
	call, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	configured := true
	if !e.Rebuilding && !e.Retired {
		var err error
		if configured, err = c.configure(call, e); err != nil {
			return err
		}
	}
	changed, err := c.catalogue.PutEntry(call, e)
	if err != nil {
		return err
	}
	if changed {
		c.log.Info("sale announced", "sale", e.ID, "epoch", e.Epoch, "rev", e.Rev, "paused", e.Paused, "retired", e.Retired)
	}
	if configured {
		c.remember(e.ID, progress{epoch: e.Epoch, rev: e.Rev, at: time.Now()})
	}
	return nil
}

// Again has every sale brought to both stores again, in the next round: one of them may
// have lost what it was brought.
func (c *Convergence) Again() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.done)
}

func (c *Convergence) last(saleID string) progress {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done[saleID]
}

// forget drops what is remembered of sales that are no more.
func (c *Convergence) forget(all []sale.Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.done) <= len(all) {
		return
	}
	here := make(map[string]bool, len(all))
	for _, e := range all {
		here[e.ID] = true
	}
	maps.DeleteFunc(c.done, func(id string, _ progress) bool { return !here[id] })
}

func (c *Convergence) remember(saleID string, p progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done[saleID] = p
}

// configure changes Redis. A sale that is not live there is a matter for a load;
// its entry is announced all the same, and Redis is asked again in the next round.
func (c *Convergence) configure(ctx context.Context, e sale.Entry) (done bool, err error) {
	snap, changed, err := c.stock.Configure(ctx, e)
	switch {
	case errors.Is(err, sale.ErrStale):
		return false, nil
	case err != nil:
		return false, err
	}
	if changed {
		// Gateways that miss it read the sale again within a second.
		_ = c.catalogue.NotifySnapshot(snap)
	}
	return true, nil
}
