package funnel

import (
	"sync"
	"sync/atomic"
	"time"

	"sluice/gateway/internal/catalog"
	"sluice/shared/sale"
)

// attempt is one attempt on its way through reserve and hand-over. Whoever takes
// it out of the line finishes it exactly once.
type attempt struct {
	sale.Attempt
	result Result
	done   chan struct{}
}

func newAttempt(userID, key string, now time.Time) *attempt {
	return &attempt{
		Attempt: sale.Attempt{RID: drawRID(now), UserID: userID, Key: key},
		done:    make(chan struct{}),
	}
}

func (a *attempt) finish(r Result) {
	a.result = r
	close(a.done)
}

// line is where the attempts of one sale wait for the next reserve call.
type line struct {
	funnel *Funnel
	sale   *catalog.Sale
	gate   gate                 // in front of it
	seen   atomic.Int64         // when there was an attempt last, unix nanoseconds
	part   atomic.Pointer[part] // what the sale is sure of; nil while it has no attempts
	hands  atomic.Int64         // goroutines that wait for a hand-over, at most for patience

	mu       sync.Mutex
	waiting  []*attempt
	kept     int64 // places that count as taken: of those who wait, and those the share keeps
	inFlight int   // goroutines that take from the line, each with one call at a time
}

func (f *Funnel) line(s *catalog.Sale) *line {
	if l, ok := f.shares.lines.Load(s); ok {
		return l.(*line)
	}
	fresh := &line{funnel: f, sale: s, gate: gate{flat: newLimiter(f.config.AdmitSaleRate)}}
	l, _ := f.shares.lines.LoadOrStore(s, fresh)
	return l.(*line)
}

// Forget drops what is kept of a sale that the catalogue has no more.
func (f *Funnel) Forget(s *catalog.Sale) { f.shares.forget(s) }

// weight is the sale's in the division of what all have; 0 when it has no attempts.
func (l *line) weight(now time.Time) float64 {
	if now.UnixNano()-l.seen.Load() > activeFor.Nanoseconds() {
		return 0
	}
	return float64(max(1, l.sale.Entry().Weight))
}

// join puts a into the line; false when the line is full. Who finds no call in flight
// starts one, so an idle sale costs no goroutine. Beside one another starts only once it
// would be full: two that share what there is cost twice as much and are no sooner done.
func (l *line) join(a *attempt) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.funnel
	if len(l.waiting) >= f.config.LineLength || !l.place() {
		return false
	}
	l.waiting = append(l.waiting, a)
	full := len(l.waiting) >= f.config.full()
	if l.inFlight < f.config.InFlight && (l.inFlight == 0 || full) {
		l.inFlight++
		f.flights.Go(l.serve)
	}
	return true
}

// place takes a place of all lines together. Beyond the sale's share there is one only
// while those that others are sure of stay free.
func (l *line) place() bool {
	h := l.funnel.shares
	if h.waiting.Add(1) > int64(h.places) {
		h.waiting.Add(-1)
		return false
	}
	more := l.keeps(len(l.waiting)+1) - l.kept
	if more > 0 && h.kept.Add(more) > int64(h.places) {
		h.kept.Add(-more)
		h.waiting.Add(-1)
		return false
	}
	l.kept += more
	return true
}

// keeps is how many places count as taken when so many wait.
func (l *line) keeps(waiting int) int64 {
	if p := l.part.Load(); p != nil {
		waiting = max(waiting, p.places)
	}
	return int64(waiting)
}

// resize gives the line its share.
func (l *line) resize(p *part) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.part.Store(p)
	l.recount()
}

func (l *line) recount() {
	keeps := l.keeps(len(l.waiting))
	l.funnel.shares.kept.Add(keeps - l.kept)
	l.kept = keeps
}

// serve makes one call after the other until nobody waits. What one hands over is struck
// off the handoff list once the next is decided: those who wait come first. While no call is
// decided, because Redis answers errors, it is carried on and stays listed: for longer than
// the sweeper waits if attempts keep coming. It is handed over again then, which moves
// nothing, and struck off in the end all the same.
func (l *line) serve() {
	var listed sale.HandOver
	for batch := l.take(); batch != nil; batch = l.take() {
		listed = l.funnel.reserve(l, batch, listed)
	}
	l.funnel.strikeOff(listed)
}

// refused reports whether those who wait can be refused from memory.
func (l *line) refused() bool {
	_, refused := l.sale.Refusal(l.sale.Clock())
	return refused
}

// take leaves to another goroutine only what that one comes for soon: a reserve call may
// hang until its deadline.
func (l *line) take() []*attempt {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(l.waiting), l.funnel.config.BatchSize)
	if n == 0 {
		l.waiting = nil // and what it was a part of
	}
	if n == 0 || n < l.funnel.config.full() && l.hands.Load() > 0 && !l.refused() { // who hands over takes what there is
		l.inFlight--
		return nil
	}
	l.funnel.shares.waiting.Add(-int64(n))
	batch := l.waiting[:n:n]
	l.waiting = l.waiting[n:]
	l.recount()
	return batch
}
