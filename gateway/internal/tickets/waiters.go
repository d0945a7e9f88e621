package tickets

import (
	"slices"
	"sync"

	"sluice/shared/sale"
)

// Waiters are the requests that wait for news of a ticket.
type Waiters struct {
	most int

	mu      sync.Mutex
	byRID   map[string][]chan struct{}
	waiting int

	drain   sync.Once
	drained chan struct{} // closed when nobody may wait any more
}

// NewWaiters allows most requests to wait at a time.
func NewWaiters(most int) *Waiters {
	return &Waiters{most: most, byRID: make(map[string][]chan struct{}), drained: make(chan struct{})}
}

// Wake tells those who wait for the reservations of results. It never blocks.
func (w *Waiters) Wake(_ string, results []sale.Result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range results {
		for _, woken := range w.byRID[r.RID] {
			select {
			case woken <- struct{}{}:
			default: // it has not read again since it was last woken
			}
		}
	}
}

// Drain wakes everybody and lets nobody wait any more.
func (w *Waiters) Drain() { w.drain.Do(func() { close(w.drained) }) }

// Waiting is how many requests wait.
func (w *Waiters) Waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waiting
}

// mostOfOne is how many requests may wait for one ticket: a buyer's devices, not a
// client that fills the gateway.
const mostOfOne = 4

// register adds a request for rid; false when too many wait.
func (w *Waiters) register(rid string) (woken chan struct{}, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting >= w.most || len(w.byRID[rid]) >= mostOfOne {
		return nil, false
	}
	w.waiting++
	woken = make(chan struct{}, 1)
	w.byRID[rid] = append(w.byRID[rid], woken)
	return woken, true
}

func (w *Waiters) leave(rid string, woken chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting--
	rest := slices.DeleteFunc(w.byRID[rid], func(other chan struct{}) bool { return other == woken })
	if len(rest) == 0 {
		delete(w.byRID, rid)
		return
	}
	w.byRID[rid] = rest
}
