package catalog

import (
	"fmt"
	"time"
)

// Warm says why not every sale due within horizon is ready to be attempted; nil
// when all are. A sale in rebuild counts as warm, or no gateway could start while
// one sale heals.
func (c *Catalog) Warm(now time.Time, horizon time.Duration) error {
	for _, s := range c.All() {
		e := s.Entry()
		at := s.Now(now)
		due := e.OpensAt.Before(at.Add(horizon)) && e.ClosesAt.After(at)
		if !due || e.Rebuilding || e.Retired {
			continue
		}
		if _, warm := s.Snapshot(); !warm {
			return fmt.Errorf("sale %s is not loaded in redis at epoch %d", s.id, e.Epoch)
		}
	}
	return nil
}

// SaleReady says why attempts on one sale cannot be decided; nil when they can.
func (c *Catalog) SaleReady(id string) error {
	s := c.Find(id)
	if s == nil {
		return fmt.Errorf("sale %q is not in the catalogue", id)
	}
	if _, warm := s.Snapshot(); !warm {
		return fmt.Errorf("sale %s is not loaded in redis at epoch %d", id, s.Entry().Epoch)
	}
	return nil
}
