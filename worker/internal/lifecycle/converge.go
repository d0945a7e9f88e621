package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"sluice/shared/changes"
	"sluice/shared/sale"
	"sluice/shared/service"
)

const (
	convergeEvery  = 300 * time.Millisecond // how old a change may be before gateways learn of it
	repeatEvery    = 10 * time.Second       // how long a store that lost a change may go unnoticed
	convergeWithin = 5 * time.Second        // of one round's read
	callWithin     = 2 * time.Second        // of one call
	listWithin     = time.Minute            // of one allow list
	converging     = 8                      // sales at a time: one that hangs must not keep the others
)

// entries are the sales as Postgres has them.
type entries interface {
	Entries(ctx context.Context) ([]sale.Entry, error)
}

// bringer brings an entry to Redis and to the catalogue, unless they have a newer one.
type bringer interface {
	Entry(ctx context.Context, e sale.Entry) (changes.Brought, error)
	AllowList(ctx context.Context, saleID string) error
}

// Convergence brings every change of a sale from Postgres to Redis and to the
// catalogue.
type Convergence struct {
	truth  entries
	bring  bringer
	locked error // another process brings the list
	log    *slog.Logger

	mu      sync.Mutex
	done    map[string]progress
	listing bool // an allow list is being brought
	lists   sync.WaitGroup
	faults  service.Quiet
}

// progress is what a sale was last brought to, and when.
type progress struct {
	epoch, rev int64
	at         time.Time
}

// NewConvergence builds the loop. locked is the error that says that another process
// brings the allow list of a sale.
func NewConvergence(truth entries, bring bringer, locked error, log *slog.Logger) *Convergence {
	return &Convergence{truth: truth, bring: bring, locked: locked, log: log, done: make(map[string]progress)}
}

// Run converges until ctx ends.
func (c *Convergence) Run(ctx context.Context) {
	ticker := time.NewTicker(convergeEvery)
	defer ticker.Stop()
	defer c.lists.Wait()
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
			faults[i] = c.converge(ctx, e)
			return nil
		})
	}
	_ = group.Wait() // the faults are told together
	return errors.Join(faults...)
}

func (c *Convergence) converge(ctx context.Context, e sale.Entry) error {
	last := c.last(e.ID)
	same := last.epoch == e.Epoch && last.rev == e.Rev
	if e.Epoch == 0 || same && (e.Retired || time.Since(last.at) < repeatEvery) {
		return nil // not loaded yet, or nothing new; what is retired is about to leave the catalogue
	}
	call, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	brought, err := c.bring.Entry(call, e)
	if err != nil {
		return err
	}
	if brought.Announced {
		c.log.Info("sale announced", "sale", e.ID, "epoch", e.Epoch, "rev", e.Rev, "paused", e.Paused, "retired", e.Retired)
	}
	if brought.Unlisted {
		c.list(ctx, e.ID)
	}
	// What Redis has not taken is tried again in the next round.
	if (brought.Live || e.Rebuilding || e.Retired) && !brought.Unlisted {
		c.remember(e.ID, progress{epoch: e.Epoch, rev: e.Rev, at: time.Now()})
	}
	return nil
}

// list brings a sale's allow list beside the rounds: other sales must not wait for it. One at
// a time, which takes two connections to Postgres.
func (c *Convergence) list(ctx context.Context, saleID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listing {
		return // again in the next round
	}
	c.listing = true
	c.lists.Go(func() {
		defer func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.listing = false
		}()
		start := time.Now()
		call, cancel := context.WithTimeout(ctx, listWithin)
		defer cancel()
		switch err := c.bring.AllowList(call, saleID); {
		case err == nil:
			c.log.Info("allow list brought", "sale", saleID, "seconds", time.Since(start).Seconds())
		case !errors.Is(err, c.locked) && ctx.Err() == nil && c.faults.Allow():
			c.log.Warn("allow list not brought", "sale", saleID, "error", err)
		}
	})
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
