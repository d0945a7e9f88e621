package compare

import (
	"sync"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/record"
	"sluice/shared/sale"
)

// tally is what a crowd, or an attack, was answered.
type tally struct {
	system string
	all    *record.Latencies // of the run
	round  record.Latencies  // of this round

	mu         sync.Mutex
	requests   int
	unanswered int                        // clicks
	late       int                        // requests without an answer in time
	fault      error                      // the first
	outcomes   map[string]int             // of answers
	winners    map[string]*record.Winners // by template
}

func newTally(system string, all *record.Latencies) *tally {
	return &tally{system: system, all: all, outcomes: make(map[string]int), winners: make(map[string]*record.Winners)}
}

// newCoupon is the class of clicks that got their claimer a new coupon.
const newCoupon = "new_coupon"

// answered counts the answer to a click's nth request, from 0; the click ends with it if
// it is the last. Only then a latency counts: since the click.
func (t *tally) answered(at Sale, claimer, try int, a attack.Answer, last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests++
	t.outcomes[a.Outcome]++
	if a.Outcome == attack.OutcomeFault {
		t.late++
		if t.fault == nil {
			t.fault = a.Err
		}
	}
	if last && (a.Outcome == attack.OutcomeFault || passing(a.Outcome)) {
		t.unanswered++
	}
	if last {
		t.all.Add(t.system+"."+a.Outcome, a.Latency)
		t.round.Add(classOf(a.Outcome, try), a.Latency)
	}
	t.won(at, claimer, a)
}

// classOf says what a click got. A replay of what a request of the same click took,
// whose answer was lost or a 503, is as new as that would have been.
func classOf(outcome string, try int) string {
	switch {
	case outcome == sale.Confirmed.String(), outcome == sale.Accepted.String(), outcome == sale.Replay.String() && try > 0:
		return newCoupon
	default:
		return outcome
	}
}

// p95s are the round's: of clicks for a new coupon, for one that the claimer has already,
// and for none.
func (t *tally) p95s(f figures) {
	answers := t.round.Summaries()
	for _, class := range []string{newCoupon, sale.Replay.String(), sale.SoldOut.String()} {
		if s := answers[class]; s.Count > 0 {
			f[t.system+"_"+class+"_p95_ms"] = s.P95
		}
	}
}

// won keeps the ticket of an answer, if it has one. An answer whose ticket cannot be
// read is a fault.
func (t *tally) won(at Sale, claimer int, a attack.Answer) {
	if a.Ticket.Ticket == "" {
		return
	}
	rid, err := attack.RID(a.Ticket.Ticket)
	if err != nil {
		t.fault = err
		t.unanswered++
		return
	}
	t.winnersOf(at.ID).Answer(claimer, a.Ticket.Ticket, rid, a.Outcome == sale.Accepted.String(), a.Ticket.Status)
}

// winnersOf are those who were told of a ticket; the caller has the lock, or is alone.
func (t *tally) winnersOf(template string) *record.Winners {
	if t.winners[template] == nil {
		t.winners[template] = &record.Winners{}
	}
	return t.winners[template]
}
