package catalog

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"sluice/gateway/internal/eta"
	"sluice/shared/sale"
)

// Sale is one sale as this gateway knows it.
type Sale struct {
	id        string
	timing    *timing
	entry     atomic.Pointer[sale.Entry]
	retiredAt atomic.Pointer[time.Time] // when this gateway heard of it; nil before
	live      atomic.Pointer[live]
	asked     atomic.Pointer[asked] // the last read; nil before the first
	progress  atomic.Pointer[progress]
	mu        sync.Mutex    // serialises writers of live and progress
	estimator eta.Estimator // of when tickets have their turn; guarded by mu
	lost      bool          // as told in the log; only the re-read uses it
}

// live is the newest snapshot and the clock that it was read by.
type live struct {
	sale.Snapshot
	clock clock
	stale bool // Redis answered STALE since
}

func newSale(e sale.Entry, t *timing) *Sale {
	s := &Sale{id: e.ID, timing: t}
	s.progress.Store(&progress{passed: make(chan struct{})})
	s.store(e)
	return s
}

// ID of the sale.
func (s *Sale) ID() string { return s.id }

// Entry is the announced configuration. It must not be changed.
func (s *Sale) Entry() *sale.Entry { return s.entry.Load() }

func (s *Sale) apply(e sale.Entry) {
	if e.NewerThan(*s.entry.Load()) {
		s.store(e)
	}
}

func (s *Sale) store(e sale.Entry) {
	s.entry.Store(&e)
	if !e.Retired {
		s.retiredAt.Store(nil)
	} else if s.retiredAt.Load() == nil {
		now := s.Clock()
		s.retiredAt.Store(&now)
	}
}

// Snapshot is the newest state seen, and whether the sale is warm: whether that
// state is of the announced epoch and Redis has not disowned it since.
func (s *Sale) Snapshot() (sale.Snapshot, bool) {
	l, e := s.live.Load(), s.entry.Load()
	if l == nil {
		return sale.Snapshot{}, false
	}
	return l.Snapshot, l.Epoch == e.Epoch && !l.stale && !e.Rebuilding && !e.Retired
}

// Observe takes in the snapshot of a script's reply; sent and received are when
// the call began and ended by this process's clock. It reports whether the
// snapshot is newer, by (epoch, version), than any this gateway knew.
func (s *Sale) Observe(snap sale.Snapshot, sent, received time.Time) (news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := live{Snapshot: snap, clock: reading(snap.Now, sent, received)}
	s.timing.learn(next.clock)
	old := s.live.Load()
	if old == nil {
		s.live.Store(&next)
		return true
	}
	news = snap.NewerThan(old.Snapshot)
	next.clock = old.clock.better(next.clock)
	if old.NewerThan(snap) {
		next.Snapshot, next.stale = old.Snapshot, old.stale
	}
	s.live.Store(&next)
	return news
}

// hear takes in a snapshot that somebody else read. It says nothing about the
// clock, so a sale that was never read here stays cold.
func (s *Sale) hear(snap sale.Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.live.Load()
	switch {
	case old != nil && snap.NewerThan(old.Snapshot):
		s.live.Store(&live{Snapshot: snap, clock: old.clock})
	case old == nil && snap.Epoch == s.Entry().Epoch:
		s.asked.Store(nil) // there is something to be read after all
	}
}

// Disown notes that Redis does not hold epoch: until a live snapshot is seen
// again the sale sells nothing here.
func (s *Sale) Disown(epoch int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.live.Load(); old != nil && old.Epoch == epoch {
		next := *old
		next.stale = true
		s.live.Store(&next)
	}
}

// report logs that the sale is lost in Redis, and that it is there again, once each.
func (s *Sale) report(err error, log *slog.Logger) {
	switch lost := errors.Is(err, sale.ErrStale); {
	case lost && !s.lost:
		log.Warn("sale pauses here: redis does not hold its epoch", "sale", s.id, "epoch", s.Entry().Epoch, "rebuilding", s.Entry().Rebuilding)
		s.lost = true
	case err == nil && s.lost:
		log.Info("sale is live here again", "sale", s.id, "epoch", s.Entry().Epoch)
		s.lost = false
	}
}

// Clock is this process's own time, as Catalog.Clock.
func (s *Sale) Clock() time.Time { return s.timing.process() }

// Now is the sale's clock: Redis time, as this process measured it. Before the sale's
// first reply it is that of the catalogue.
func (s *Sale) Now(now time.Time) time.Time {
	if l := s.live.Load(); l != nil {
		at, _ := l.clock.at(now)
		return at
	}
	return s.timing.at(now)
}

// Refusal says whether an attempt at now is refused from memory, and how. Near a
// boundary of the window, by less than the measured round trip, the script decides.
func (s *Sale) Refusal(now time.Time) (sale.Outcome, bool) {
	e, l := s.entry.Load(), s.live.Load()
	if e.Retired {
		return sale.OutOfWindow, true
	}
	if l == nil || l.Epoch != e.Epoch || l.stale || e.Rebuilding {
		return sale.Unavailable, true
	}
	at, doubt := l.clock.at(now)
	switch {
	case !at.Add(-doubt).Before(l.ClosesAt):
		return sale.OutOfWindow, true
	case l.Paused || e.Paused:
		return sale.Paused, true
	case l.SoldOut:
		return sale.SoldOut, true
	case at.Add(doubt).Before(l.OpensAt):
		return sale.NotOpen, true
	default:
		return sale.NoOutcome, false
	}
}

// State describes the sale at now, for buyers.
func (s *Sale) State(now time.Time) sale.State {
	snap, warm := s.Snapshot()
	if !warm {
		e := s.Entry()
		if e.Retired {
			return sale.StateClosed
		}
		return sale.DescribeState(sale.PhaseAt(e.OpensAt, e.ClosesAt, s.Now(now)), true, false)
	}
	phase := sale.PhaseAt(snap.OpensAt, snap.ClosesAt, s.Now(now))
	return sale.DescribeState(phase, snap.Paused || s.Entry().Paused, snap.SoldOut)
}
