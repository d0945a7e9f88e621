package catalog

import "sluice/shared/sale"

// progress is how far workers said they are, and what closes when they say more.
type progress struct {
	sale.Progress
	passed chan struct{}
}

// Progress takes a worker's announcement in.
func (c *Catalog) Progress(p sale.Progress) {
	if s := c.Find(p.SaleID); s != nil {
		s.advance(p)
	}
}

// advance replaces the progress. Announcements of several workers may overtake
// each other: served never goes back within an epoch.
func (s *Sale) advance(p sale.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.progress.Load()
	if old != nil && (p.Epoch < old.Epoch || p.Epoch == old.Epoch && p.Served < old.Served) {
		return
	}
	moved := old == nil || p.Epoch != old.Epoch || p.Served != old.Served
	next := &progress{Progress: p}
	if moved {
		next.passed = make(chan struct{})
	} else {
		next.passed = old.passed
	}
	s.progress.Store(next)
	if moved && old != nil {
		close(old.passed)
	}
}

// Progress is the last announcement of how far workers are; false when none was
// heard for the current epoch.
func (s *Sale) Progress() (sale.Progress, bool) {
	p := s.progress.Load()
	if p == nil || p.Epoch != s.Entry().Epoch {
		return sale.Progress{}, false
	}
	return p.Progress, true
}

// Passed is closed once workers served more than Progress says. It is nil, and so
// never closed, before the first announcement.
func (s *Sale) Passed() <-chan struct{} {
	if p := s.progress.Load(); p != nil {
		return p.passed
	}
	return nil
}
