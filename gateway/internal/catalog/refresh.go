package catalog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"
	"sluice/shared/sale"
)

type snapshots interface {
	Snapshot(ctx context.Context, saleID string, epoch int64) (sale.Snapshot, sale.HandOff, error)
}

// refreshing is how many sales are read at a time: one whose shard hangs must not
// keep the others.
const refreshing = 8

// Refresh reads sales until ctx ends: one that was announced at once, so that it is
// cold for no longer than a read takes, and every one once a period, which is what a
// lost broadcast costs, not the sale. It forgets what has been retired for long.
func (c *Catalog) Refresh(ctx context.Context, redis snapshots, period, forgetAfter time.Duration, log *slog.Logger) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.wanted:
			c.ReadUnread(ctx, redis, log)
		case <-ticker.C:
			c.read(ctx, redis, func(s *Sale) bool { return !s.Entry().Retired }, log) // of a retired one Redis has nothing, or soon will not
			c.Forget(c.Clock(), forgetAfter)
		}
	}
}

// want has Refresh read a sale that is unread, before its next period.
func (c *Catalog) want(s *Sale) {
	if !s.unread() {
		return
	}
	select {
	case c.wanted <- struct{}{}:
	default: // it will
	}
}

// ReadUnread reads the sales that Redis has yet to be asked for, as they are announced.
func (c *Catalog) ReadUnread(ctx context.Context, redis snapshots, log *slog.Logger) {
	c.read(ctx, redis, (*Sale).unread, log)
}

// read reads sales, one pass at a time, so that nothing is read by two.
func (c *Catalog) read(ctx context.Context, redis snapshots, which func(*Sale) bool, log *slog.Logger) {
	c.passes.Lock()
	defer c.passes.Unlock()
	var reads errgroup.Group
	reads.SetLimit(refreshing)
	for _, s := range c.All() {
		if !which(s) {
			continue
		}
		reads.Go(func() error {
			err := s.Refresh(ctx, redis)
			if err != nil && ctx.Err() == nil {
				log.Debug("sale not refreshed", "sale", s.id, "error", err)
			}
			s.report(err, log)
			return nil
		})
	}
	_ = reads.Wait() // each read has said what failed
}

// asked is what came of a read of a sale.
type asked struct {
	entry   *sale.Entry // by which it was read
	err     error
	failing time.Time // since when no read was answered, by this process's clock
}

// answered reports whether Redis has said what it has, be it nothing.
func (a *asked) answered() bool { return a.err == nil || errors.Is(a.err, sale.ErrStale) }

// unread reports whether Redis has yet to be asked for the sale as it is announced.
func (s *Sale) unread() bool {
	e := s.Entry()
	if e.Retired || e.Rebuilding {
		return false
	}
	if _, warm := s.Snapshot(); warm {
		return false
	}
	a := s.asked.Load()
	return a == nil || a.entry != e || !a.answered()
}

// Refresh reads the sale's snapshot from Redis at the announced epoch.
func (s *Sale) Refresh(ctx context.Context, redis snapshots) error {
	e := s.Entry()
	sent := s.Clock()
	snap, _, err := redis.Snapshot(ctx, s.id, e.Epoch)
	if err != nil {
		err = fmt.Errorf("cannot refresh sale %s: %w", s.id, err)
	}
	switch {
	case errors.Is(err, sale.ErrStale):
		s.Disown(e.Epoch)
	case err == nil:
		s.Observe(snap, sent, s.Clock())
	}
	next := &asked{entry: e, err: err, failing: sent}
	if last := s.asked.Load(); last != nil && !last.answered() {
		next.failing = last.failing
	}
	s.asked.Store(next)
	return err
}
