package httpapi

import (
	"context"
	"sync"
	"time"
)

// turnWait is how long a caller waits for a turn before the answer is busy.
const turnWait = time.Second

// turns lets so many in at a time; the others wait for a moment, in a bounded line. Once
// that is half full a buyer has few places in it: nobody keeps all others out.
type turns struct {
	free   chan struct{} // holds one for each that is in
	places int           // in the line, those that are in included

	mu  sync.Mutex
	all int
	of  map[caller]int
}

// Places that one caller may have. A merchant's order system speaks for many buyers.
const (
	mostPlaces  = 16
	buyersShare = 2 // of a line that is half full
)

func newTurns(at, places int) *turns {
	return &turns{free: make(chan struct{}, at), places: places, of: map[caller]int{}}
}

// enter waits for a turn, which ends with done; free is false if there was none.
func (t *turns) enter(ctx context.Context, who caller) (done func(), free bool) {
	if !t.join(who) {
		return func() {}, false
	}
	wait, cancel := context.WithTimeout(ctx, turnWait)
	defer cancel()
	select {
	case t.free <- struct{}{}:
		return func() { <-t.free; t.leave(who) }, true
	case <-wait.Done():
		t.leave(who)
		return func() {}, false
	}
}

func (t *turns) join(who caller) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	most := mostPlaces
	if who.merchant == "" && 2*t.all >= t.places {
		most = buyersShare
	}
	if t.all == t.places || t.of[who] >= most {
		return false
	}
	t.all++
	t.of[who]++
	return true
}

func (t *turns) leave(who caller) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all--
	if t.of[who]--; t.of[who] == 0 {
		delete(t.of, who)
	}
}
