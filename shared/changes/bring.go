package changes

import (
	"context"
	"errors"
	"fmt"

	"sluice/shared/sale"
)

// Truth is Postgres.
type Truth interface {
	// AllowList calls begin with the entry as of the moment that the pages are of.
	AllowList(ctx context.Context, saleID string, begin func(sale.Entry) error, page func(users []string) error) error
	// LockAllowList keeps others from doing the same work.
	LockAllowList(ctx context.Context, saleID string) (unlock func(), err error)
}

// Stock is Redis. It fails with sale.ErrStale while the sale is not live at the epoch.
type Stock interface {
	Configure(ctx context.Context, e sale.Entry) (sale.Snapshot, sale.Configured, error)
	StageAllow(ctx context.Context, e sale.Entry, users []string) (staged bool, err error)
	SwapAllow(ctx context.Context, e sale.Entry, users int64) (sale.Snapshot, sale.Configured, error)
}

// Catalogue is JetStream.
type Catalogue interface {
	PutEntry(ctx context.Context, e sale.Entry) (changed bool, err error)
	NotifySnapshot(s sale.Snapshot) error
}

// Bringer brings changes of sales.
type Bringer struct {
	Truth     Truth
	Stock     Stock
	Catalogue Catalogue
}

// Brought says how far a change has come.
type Brought struct {
	Live      bool // Redis has it; else the sale is not live there, which is a matter for a load
	Announced bool // the catalogue has it from this call
	Unlisted  bool // its allow list is still to come: AllowList
}

// Entry brings an entry to Redis and then to the catalogue, whether or not Redis is live at
// its epoch.
func (b Bringer) Entry(ctx context.Context, e sale.Entry) (Brought, error) {
	var done Brought
	if !e.Rebuilding && !e.Retired {
		configured, live, err := b.configure(ctx, e)
		if err != nil {
			return done, err
		}
		done.Live, done.Unlisted = live, configured.Unlisted
	}
	var err error
	done.Announced, err = b.Catalogue.PutEntry(ctx, e)
	return done, err
}

func (b Bringer) configure(ctx context.Context, e sale.Entry) (c sale.Configured, live bool, err error) {
	snapshot, c, err := b.Stock.Configure(ctx, e)
	switch {
	case errors.Is(err, sale.ErrStale):
		return c, false, nil
	case err != nil:
		return c, false, err
	}
	b.tell(c, snapshot)
	return c, true, nil
}

// tell lets gateways know at once; who misses it reads the sale again within a second.
func (b Bringer) tell(c sale.Configured, s sale.Snapshot) {
	if c.Changed {
		_ = b.Catalogue.NotifySnapshot(s)
	}
}

// errOvertaken ends the reading of a list that another one has replaced.
var errOvertaken = errors.New("a later allow list is on its way")

// AllowList brings the sale's allow list to Redis, beside the one in force, then swaps them.
// It returns nil too when there is nothing to be done any more: the sale has no list, is
// not live, or has a later one. It takes as long as the list is.
func (b Bringer) AllowList(ctx context.Context, saleID string) error {
	unlock, err := b.Truth.LockAllowList(ctx, saleID)
	if err != nil {
		return err
	}
	defer unlock()
	var entry sale.Entry
	var users int64
	stage := func(page []string) error {
		users += int64(len(page))
		staged, err := b.Stock.StageAllow(ctx, entry, page)
		if err == nil && !staged {
			return errOvertaken
		}
		return err
	}
	err = b.Truth.AllowList(ctx, saleID, func(e sale.Entry) error {
		entry = e
		if !e.Eligibility.HasAllowList || e.Rebuilding || e.Retired {
			return errOvertaken
		}
		return stage(nil)
	}, stage)
	switch {
	case errors.Is(err, errOvertaken) || errors.Is(err, sale.ErrStale):
		return nil
	case err != nil:
		return fmt.Errorf("cannot bring the allow list of sale %s: %w", saleID, err)
	}
	return b.swap(ctx, entry, users)
}

func (b Bringer) swap(ctx context.Context, e sale.Entry, users int64) error {
	snapshot, configured, err := b.Stock.SwapAllow(ctx, e, users)
	switch {
	case errors.Is(err, sale.ErrStale):
		return nil
	case err != nil:
		return err
	case configured.Unlisted:
		return fmt.Errorf("cannot swap the allow list of sale %s: redis has lost some of its %d users meanwhile", e.ID, users)
	}
	b.tell(configured, snapshot)
	return nil
}
