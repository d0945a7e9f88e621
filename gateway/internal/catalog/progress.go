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
	if p.Epoch < old.Epoch || p.Epoch == old.Epoch && p.Served < old.Served {
		return
	}
	if p.Epoch == old.Epoch && p.Served == old.Served && old.Epoch != 0 {
		s.progress.Store(&progress{Progress: p, passed: old.passed})
		return
	}
	s.progress.Store(&progress{Progress: p, passed: make(chan struct{})})
	close(old.passed)
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

// Passed is closed once workers say that they served more than Progress says.
func (s *Sale) Passed() <-chan struct{} { return s.progress.Load().passed }
