package funnel

import (
	"sync"
	"sync/atomic"
	"time"

	"sluice/gateway/internal/catalog"
)

const (
	activeFor   = 3 * time.Second // after its last attempt a sale has a share
	divideEvery = time.Second     // so a share comes back, and a weight counts, a second later
)

// shares divide what all sales have together, the rate of admission and the places in
// the lines, among those that have attempts, by their weights.
type shares struct {
	perSecond float64 // 0 is unlimited
	places    int

	lines sync.Map // *catalog.Sale → *line
	mu    sync.Mutex
	due   atomic.Int64 // when to divide again, unix nanoseconds

	waiting atomic.Int64 // attempts in all lines
	kept    atomic.Int64 // places that are taken, or kept for a sale's share
}

// part is what one sale is sure of.
type part struct {
	perSecond float64
	places    int
}

// touch notes an attempt of l's sale. A sale without a share gets one at once.
func (h *shares) touch(l *line, now time.Time) {
	at := now.UnixNano()
	l.seen.Store(at)
	if l.part.Load() == nil || at >= h.due.Load() {
		h.divide(l, now)
	}
}

// divide gives every sale its share, if nobody has done so since l asked.
func (h *shares) divide(l *line, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l.part.Load() != nil && now.UnixNano() < h.due.Load() {
		return
	}
	h.due.Store(now.Add(divideEvery).UnixNano())
	var all float64
	h.each(func(l *line) { all += l.weight(now) })
	h.each(func(l *line) {
		if w := l.weight(now); w > 0 {
			l.resize(&part{perSecond: h.perSecond * w / all, places: int(float64(h.places) * w / all)})
		} else if l.part.Load() != nil {
			l.resize(nil)
		}
	})
}

func (h *shares) each(do func(*line)) {
	h.lines.Range(func(_, l any) bool {
		do(l.(*line))
		return true
	})
}

// forget takes a sale's share away for good.
func (h *shares) forget(s *catalog.Sale) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l, ok := h.lines.LoadAndDelete(s); ok {
		l.(*line).resize(nil)
	}
}
