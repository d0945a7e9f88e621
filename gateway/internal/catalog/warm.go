package catalog

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Warm says why not every sale is ready to be attempted; nil when all are. Each must
// have been read once, and those due within horizon of now, by Redis time, must be
// loaded. A sale in rebuild counts as warm, or no gateway could start while one sale heals;
// so does, after a while, one whose shard is away while others answer.
func (c *Catalog) Warm(now time.Time, horizon time.Duration) error {
	var cold []error
	all := c.All()
	someAnswered := slices.ContainsFunc(all, func(s *Sale) bool {
		a := s.asked.Load()
		return a != nil && a.answered()
	})
	for _, s := range all {
		if someAnswered && s.away(now) {
			continue
		}
		if err := s.warm(now, horizon); err != nil {
			cold = append(cold, err)
		}
	}
	if more := len(cold) - coldNamed; more > 0 {
		cold = append(cold[:coldNamed], fmt.Errorf("and %d more", more))
	}
	return joined(cold)
}

// coldNamed is how many sales are named that keep a gateway from being ready.
const coldNamed = 3

// joined has all errors on one line; nil when there are none.
func joined(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	all := errs[0]
	for _, err := range errs[1:] {
		all = fmt.Errorf("%w; %w", all, err)
	}
	return all
}

// awayAfter is longer than a failover takes.
const awayAfter = 15 * time.Second

// away reports whether reads of the sale have failed for so long that its part of Redis is
// away.
func (s *Sale) away(now time.Time) bool {
	a := s.asked.Load()
	return s.unread() && a != nil && !a.answered() && now.Sub(a.failing) >= awayAfter
}

var errUnread = errors.New("was not read from redis yet")

func (s *Sale) warm(now time.Time, horizon time.Duration) error {
	e, at := s.Entry(), s.Now(now)
	if s.unread() {
		err := errUnread
		if a := s.asked.Load(); a != nil && a.err != nil {
			err = a.err
		}
		return fmt.Errorf("sale %s: %w", s.id, err)
	}
	if e.Rebuilding || e.Retired || !e.OpensAt.Before(at.Add(horizon)) || !e.ClosesAt.After(at) {
		return nil
	}
	return s.loaded()
}

func (s *Sale) loaded() error {
	if _, warm := s.Snapshot(); !warm {
		return fmt.Errorf("sale %s is not loaded in redis at epoch %d", s.id, s.Entry().Epoch)
	}
	return nil
}

// SaleReady says why attempts on one sale cannot be decided; nil when they can.
func (c *Catalog) SaleReady(id string) error {
	s := c.Find(id)
	if s == nil {
		return fmt.Errorf("sale %q is not in the catalogue", id)
	}
	return s.loaded()
}
