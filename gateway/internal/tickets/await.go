package tickets

import (
	"time"

	"sluice/gateway/internal/catalog"
	"sluice/shared/sale"
)

// rereadAfter bounds what a lost hint costs somebody who waits.
const rereadAfter = 10 * time.Second

// Await reads a ticket until it is enough or the time is up, and returns what it
// read last. When too many wait already, or the gateway drains, it reads once.
// enough must do no I/O: it is asked again whenever the sale's progress moves.
func (r *Reader) Await(s *catalog.Sale, ref Ref, enough func(sale.Ticket) bool, within time.Duration) (sale.Ticket, error) {
	woken, ok := r.waiters.register(ref.RID)
	if !ok {
		return r.One(s, ref)
	}
	defer r.waiters.leave(ref.RID, woken)
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	for {
		passed := s.Passed()
		t, err := r.One(s, ref)
		if err != nil || enough(t) {
			return t, err
		}
		again := r.pause(s, func() bool { return enough(t) }, woken, passed, deadline.C)
		if !again {
			return t, nil
		}
	}
}

// pause waits for a reason to read again; false when there is no time for it, or
// no need: progress alone may make what was read enough.
func (r *Reader) pause(s *catalog.Sale, enough func() bool, woken, passed <-chan struct{}, deadline <-chan time.Time) bool {
	reread := time.NewTimer(rereadAfter)
	defer reread.Stop()
	for {
		select {
		case <-woken:
			return true
		case <-reread.C:
			return true
		case <-passed:
			passed = s.Passed() // before the look: what comes after it closes this one
			if enough() {
				return false
			}
		case <-deadline:
			return false
		case <-r.waiters.drained:
			return false
		}
	}
}
