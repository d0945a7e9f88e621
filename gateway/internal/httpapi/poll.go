package httpapi

import (
	"hash/fnv"
	"time"

	"sluice/shared/sale"
)

const (
	pollSoon   = 500 * time.Millisecond
	pollUntold = 2 * time.Second // at least, while no worker said how far they are
	pollLate   = 10 * time.Second
	pollFinal  = 30 * time.Second // nothing more is expected to change soon
	pollUnpaid = time.Second      // after the end of the time to pay, when the order expires

	// A rate that was measured while nothing waited says nothing about how fast
	// those are served who have just come.
	youngTicket = 2 * time.Second
	usualRate   = 2000 // reservations served a second
)

// pollAfter tells a client when to ask again, in milliseconds: the further back,
// the later, spread by up to a quarter so that those of one batch do not come
// back together. rate is how many a second are expected to be served, 0 when that is
// unknown, age how long ago the ticket was accepted.
func pollAfter(t sale.Ticket, ahead *int64, rate float64, age time.Duration) int64 {
	wait := pollFinal
	switch {
	case t.Status == sale.StatusQueued && ahead == nil:
		wait = min(pollLate, max(pollUntold, age)) // whoever has waited for long will wait on
	case t.Status == sale.StatusQueued:
		if age < youngTicket {
			rate = max(rate, usualRate)
		}
		wait = pollQueued(*ahead, rate)
	case t.Status == sale.StatusConfirmed && !t.PayBy.IsZero():
		left := t.PayBy.Sub(t.AcceptedAt) - age
		wait = min(pollFinal, max(pollSoon, left+pollUnpaid))
	}
	return (wait + time.Duration(float64(wait)*spread(t.RID)/4)).Milliseconds()
}

// pollQueued is half the time until the ticket's turn.
func pollQueued(ahead int64, rate float64) time.Duration {
	switch {
	case ahead == 0:
		return pollSoon
	case rate <= 0: // nobody is served
		return pollLate
	}
	turn := min(float64(ahead)/rate/2, pollLate.Seconds())
	return max(pollSoon, time.Duration(turn*float64(time.Second)))
}

// spread maps a ticket to [0, 1), the same at every gateway.
func spread(rid string) float64 {
	h := fnv.New32a()
	h.Write([]byte(rid))
	return float64(h.Sum32()) / (1 << 32)
}
