package funnel

import (
	"sync"

	"github.com/google/uuid"
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

func newAttempt(userID, key string) *attempt {
	rid := uuid.Must(uuid.NewV7()) // fails only without randomness, which ends the process anyway
	return &attempt{
		Attempt: sale.Attempt{RID: rid.String(), UserID: userID, Key: key},
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

	mu       sync.Mutex
	waiting  []*attempt
	inFlight int // goroutines that take from the line
}

func (f *Funnel) line(s *catalog.Sale) *line {
	if l, ok := f.lines.Load(s.ID()); ok {
		return l.(*line)
	}
	l, _ := f.lines.LoadOrStore(s.ID(), &line{funnel: f, sale: s})
	return l.(*line)
}

// Forget drops what is kept of a sale that the catalogue has no more.
func (f *Funnel) Forget(s *catalog.Sale) {
	f.lines.Delete(s.ID())
	f.admission.sales.Delete(s.ID())
}

// join puts a into the line; false when the line is full. The first to find no
// call in flight starts one, so an idle sale costs no goroutine.
func (l *line) join(a *attempt) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.funnel
	if len(l.waiting) >= f.config.LineLength || f.waiting.Load() >= int64(f.config.TotalLine) {
		return false
	}
	f.waiting.Add(1)
	l.waiting = append(l.waiting, a)
	if l.inFlight < f.config.InFlight {
		l.inFlight++
		f.flights.Go(l.serve)
	}
	return true
}

// serve makes reserve calls until nobody waits.
func (l *line) serve() {
	for batch := l.take(); batch != nil; batch = l.take() {
		l.funnel.reserve(l.sale, batch)
	}
}

func (l *line) take() []*attempt {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(l.waiting), l.funnel.config.BatchSize)
	if n == 0 {
		l.inFlight--
		l.waiting = nil
		return nil
	}
	l.funnel.waiting.Add(-int64(n))
	batch := l.waiting[:n:n]
	l.waiting = l.waiting[n:]
	return batch
}
