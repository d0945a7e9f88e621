package backlog

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"sluice/shared/sale"
	"sluice/shared/service"
)

// stream says since when the first hand-over of a sale waits that is not acknowledged;
// the zero time when there is none.
type stream interface {
	OldestWaiting(ctx context.Context, saleID string) (time.Time, error)
}

// Watch keeps the backlog of every sale that is not retired. It is safe for concurrent use.
type Watch struct {
	stream stream
	log    *slog.Logger
	faults service.Quiet
	poked  chan struct{} // something is due

	mu       sync.Mutex
	sales    map[string]*tracked
	failures int64 // reads that failed
}

// tracked is one sale and what its numbers come from.
type tracked struct {
	Sale
	meter    Meter
	epoch    int64         // of the last snapshot; 0 before the first
	served   int64         // as of it
	now      time.Time     // when it was taken, by Redis's clock
	handOff  time.Time     // oldest entry of handoff as of it; zero when that was empty
	every    time.Duration // between the last two readings
	unserved time.Time     // the first snapshot since which something waits and nothing was served; zero when nothing waits
	due      bool          // the stream is to be asked
	entry    sale.Entry    // as it was announced last
	standing standing      // in Redis
}

// New prepares a Watch. It knows no sale until Apply tells it.
func New(s stream, log *slog.Logger) *Watch {
	return &Watch{stream: s, log: log, poked: make(chan struct{}, 1), sales: map[string]*tracked{}}
}

// Apply takes in an entry of the catalogue. A retired sale is forgotten.
func (w *Watch) Apply(e sale.Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.Retired {
		delete(w.sales, e.ID)
		return
	}
	t, known := w.sales[e.ID]
	if !known {
		t = &tracked{Sale: Sale{SaleID: e.ID}}
		w.sales[e.ID] = t
	}
	t.Title, t.entry = e.Title, e
	if e.Rebuilding {
		t.standing = notLive
	}
}

// Take takes in what a read of a sale's snapshot at a moment brought, its error too.
// A sale that is not live keeps what was last known of it, like one that cannot be read.
func (w *Watch) Take(at time.Time, saleID string, snap sale.Snapshot, h sale.HandOff, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, known := w.sales[saleID]
	switch {
	case !known:
		return
	case errors.Is(err, sale.ErrStale):
		t.standing = notLive
		return
	case err != nil:
		w.failures++
		return
	case snap.Epoch < t.epoch || snap.Epoch == t.epoch && snap.Served < t.served:
		return // overtaken by a later read
	}
	t.standing = live
	t.take(at, snap, h)
	if t.due = t.Waiting > 0; !t.due {
		return
	}
	select {
	case w.poked <- struct{}{}:
	default:
	}
}

// take renews what the snapshot says. Until the stream was asked, what waited goes on
// waiting.
func (t *tracked) take(at time.Time, snap sale.Snapshot, h sale.HandOff) {
	same := snap.Epoch == t.epoch && snap.Served == t.served && !t.unserved.IsZero()
	if snap.Epoch != t.epoch {
		t.Oldest = time.Time{}
	}
	t.every = at.Sub(t.ReadAt)
	t.Waiting, t.ReadAt = max(0, snap.Rank-snap.Served), at
	t.DrainRate, t.Measured = t.meter.Add(at, snap.Epoch, snap.Served)
	t.epoch, t.served, t.now, t.handOff = snap.Epoch, snap.Served, snap.Now, h.Oldest
	switch {
	case t.Waiting == 0:
		t.Oldest, t.unserved = time.Time{}, time.Time{}
	case !same:
		t.unserved = snap.Now
	}
	if t.Waiting > 0 {
		t.Oldest = earliest(t.Oldest, t.handOff)
	}
}

// known is what is known now. A rate is of the last seconds: of a sale that is not read
// any more nobody knows it.
func (t *tracked) known(now time.Time) Sale {
	s := t.Sale
	old := now.Sub(s.ReadAt) > meterSpan+t.every
	if s.Measured && old {
		s.DrainRate, s.Measured = 0, false
	}
	s.Stale = old || t.standing == notLive
	return s
}

// All returns the sales that were read, in order of their ids.
func (w *Watch) All() []Sale {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]Sale, 0, len(w.sales))
	for _, t := range w.sales {
		if t.epoch != 0 {
			all = append(all, t.known(now))
		}
	}
	slices.SortFunc(all, func(a, b Sale) int { return cmp.Compare(a.SaleID, b.SaleID) })
	return all
}

// Waiting is how many reservations wait, of all sales; of those that were not read yet
// none.
func (w *Watch) Waiting() (sum int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range w.sales {
		sum += t.Waiting
	}
	return sum
}

// earliest is the first of the times that are not zero; zero when all are.
func earliest(times ...time.Time) (first time.Time) {
	for _, at := range times {
		if !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}
