package catalog

import (
	"time"

	"sluice/gateway/internal/eta"
	"sluice/shared/sale"
)

// progress is how far workers said they are, what is to be expected of them, and what
// closes when they say more.
type progress struct {
	sale.Progress
	outlook eta.Outlook
	passed  chan struct{}
}

// Progress takes a worker's announcement in.
func (c *Catalog) Progress(p sale.Progress) {
	if s := c.Find(p.SaleID); s != nil {
		s.advance(p, c.Clock())
	}
}

// advance replaces the progress. Announcements of several workers may overtake
// each other: served never goes back within an epoch.
func (s *Sale) advance(p sale.Progress, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.progress.Load()
	if p.Epoch < old.Epoch {
		return
	}
	if p.Epoch == old.Epoch {
		p.Served = max(p.Served, old.Served)
	}
	next := &progress{Progress: p, outlook: s.estimator.Hear(now, p, s.waiting(p)), passed: old.passed}
	if p.Epoch == old.Epoch && p.Served == old.Served && old.Epoch != 0 {
		s.progress.Store(next)
		return
	}
	next.passed = make(chan struct{})
	s.progress.Store(next)
	close(old.passed)
}

// waiting is how many reservations have no outcome yet, by the newest snapshot; 0 when
// there is none of that epoch.
func (s *Sale) waiting(p sale.Progress) int64 {
	l := s.live.Load()
	if l == nil || l.Epoch != p.Epoch {
		return 0
	}
	return max(0, l.Rank-p.Served)
}

// Progress is the last announcement of how far workers are; false when none was
// heard for the current epoch.
func (s *Sale) Progress() (sale.Progress, bool) {
	p := s.progress.Load()
	if p.Epoch != s.Entry().Epoch {
		return sale.Progress{}, false
	}
	return p.Progress, p.Epoch != 0
}

// Outlook is what is to be expected of the workers at the current epoch.
func (s *Sale) Outlook() eta.Outlook {
	p := s.progress.Load()
	if p.Epoch != s.Entry().Epoch {
		return eta.Outlook{}
	}
	return p.outlook
}

// Passed is closed once workers say that they served more than Progress says.
func (s *Sale) Passed() <-chan struct{} { return s.progress.Load().passed }
