package tickets

import (
	"time"

	"sluice/gateway/internal/catalog"
	"sluice/shared/sale"
)

// rereadAfter bounds what a lost hint costs somebody who waits.
const rereadAfter = 10 * time.Second

// Follower reads one ticket whenever there may be news of it. It has a waiter's place
// until Leave, and is for one goroutine.
type Follower struct {
	reader *Reader
	sale   *catalog.Sale
	ref    Ref
	woken  chan struct{}
	reread *time.Timer
	old    bool // what was read last may no longer be so
	ticket sale.Ticket
}

// Follow takes a waiter's place; false when too many wait.
func (r *Reader) Follow(s *catalog.Sale, ref Ref) (*Follower, bool) {
	woken, ok := r.waiters.register(ref.RID)
	if !ok {
		return nil, false
	}
	return &Follower{reader: r, sale: s, ref: ref, woken: woken, reread: time.NewTimer(rereadAfter), old: true}, true
}

// Leave gives the place back. It may be called again.
func (f *Follower) Leave() {
	if f.woken == nil {
		return
	}
	f.reread.Stop()
	f.reader.waiters.leave(f.ref.RID, f.woken)
	f.woken = nil
}

// Next returns the ticket once it is enough; when the time is up, or the gateway
// drains, as it was read last. enough must do no I/O: it is asked again whenever the
// sale's progress moves. After an error the next call reads again.
func (f *Follower) Next(enough func(sale.Ticket) bool, within time.Duration) (sale.Ticket, error) {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	for {
		passed := f.sale.Passed() // before the look: what comes after it closes this one
		if err := f.read(); err != nil {
			return sale.Ticket{}, err
		}
		if enough(f.ticket) || !f.pause(passed, deadline.C) {
			return f.ticket, nil
		}
	}
}

func (f *Follower) read() error {
	if !f.old {
		return nil
	}
	t, err := f.reader.One(f.sale, f.ref)
	if err != nil {
		return err
	}
	f.ticket, f.old = t, false
	f.reread.Reset(rereadAfter)
	return nil
}

// pause waits for a reason to look again; false when there is no time for it.
// Progress alone may make enough of what was read.
func (f *Follower) pause(passed <-chan struct{}, deadline <-chan time.Time) bool {
	select {
	case <-f.woken:
		f.old = true
	case <-f.reread.C:
		f.old = true
	case <-passed:
	case <-deadline:
		return false
	case <-f.reader.waiters.drained:
		return false
	}
	return true
}

// Rest waits after a fault, so that those who follow do not ask a store that is away
// over and over.
func (f *Follower) Rest(d time.Duration) {
	rested := time.NewTimer(d)
	defer rested.Stop()
	select {
	case <-rested.C:
	case <-f.reader.waiters.drained:
	}
}

// Drained reports whether nobody may wait any more.
func (f *Follower) Drained() bool {
	select {
	case <-f.reader.waiters.drained:
		return true
	default:
		return false
	}
}
