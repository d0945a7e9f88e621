package campaign

import (
	"maps"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/mix"
	"sluice/loadtest/internal/record"
	"sluice/shared/sale"
)

// What a sale was when an attempt was answered, as far as the answers told: the first
// part of a class.
const (
	phaseEarly   = "early"
	phaseInStock = "in_stock"
	phaseSoldOut = "sold_out"
	phaseClosed  = "closed"
)

// Classes of ticket reads: those that are answered at once, and those that a gateway
// holds until there is news.
const (
	ClassPolled = "poll.read"
	ClassHeld   = "poll.held"
)

// stepClass is the class of a step's latencies.
func stepClass(step int, phase string) string { return strconv.Itoa(step) + "." + phase }

// outcomeOf is the second part of a class.
func outcomeOf(class string) string {
	_, outcome, _ := strings.Cut(class, ".")
	return outcome
}

// tally is what a sender has seen so far.
type tally struct {
	sales     []saleState
	latencies record.Latencies
	steps     record.Latencies // by step of the schedule and phase: see stepClass

	mu     sync.Mutex
	sent   int
	firsts int
	counts map[string]int
	stepBy []stepTally // by step of the schedule
	fault  string      // the first
}

// stepTally is what came of the attempts that were due in one step.
type stepTally struct {
	Outcomes map[string]int  `json:"outcomes"`
	Late     attack.Lateness `json:"late"`
}

func (s *stepTally) add(other stepTally) {
	if s.Outcomes == nil {
		s.Outcomes = make(map[string]int)
	}
	for outcome, n := range other.Outcomes {
		s.Outcomes[outcome] += n
	}
	s.Late = s.Late.Plus(other.Late)
}

// saleState is what answers told of one sale.
type saleState struct {
	opensAt time.Time
	soldOut atomic.Int64 // unix ns of the answer that said so; 0 when units were taken since
}

func newTally(opensAt []time.Time, steps int) *tally {
	t := &tally{sales: make([]saleState, len(opensAt)), counts: make(map[string]int), stepBy: make([]stepTally, steps)}
	for i := range t.stepBy {
		t.stepBy[i].Outcomes = make(map[string]int)
	}
	for i := range opensAt {
		t.sales[i].opensAt = opensAt[i]
	}
	return t
}

// answered counts one answer.
func (t *tally) answered(to mix.Attempt, step int, a attack.Answer) {
	phase := t.sales[to.Sale].phase(a)
	class := phase + "." + a.Outcome
	t.latencies.Add(class, a.Latency)
	t.steps.Add(stepClass(step, phase), a.Latency)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent++
	if to.First() {
		t.firsts++
	}
	t.counts[class]++
	t.stepBy[step].Outcomes[a.Outcome]++
	t.stepBy[step].Late = t.stepBy[step].Late.Plus(a.Late)
	if a.Err != nil && t.fault == "" {
		t.fault = a.Sent.Format("15:04:05.000") + " " + a.Err.Error()
	}
}

// phase says what the sale was when the attempt was answered. Some answers speak for
// themselves; the others are of what the last of those said.
func (s *saleState) phase(a attack.Answer) string {
	since := s.soldOut.Load()
	switch a.Outcome {
	case sale.SoldOut.String():
		s.soldOut.CompareAndSwap(0, time.Now().UnixNano())
		return phaseSoldOut
	case sale.NotOpen.String():
		return phaseEarly
	case sale.OutOfWindow.String():
		return phaseClosed
	case sale.Accepted.String(), sale.Confirmed.String():
		if since != 0 && a.Sent.UnixNano() > since { // units came back
			s.soldOut.CompareAndSwap(since, 0)
		}
		return phaseInStock
	}
	switch {
	case a.Sent.Before(s.opensAt):
		return phaseEarly
	case since != 0:
		return phaseSoldOut
	default:
		return phaseInStock
	}
}

// progress is what was counted so far.
func (t *tally) progress() progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	return progress{Sent: t.sent, Firsts: t.firsts, Counts: maps.Clone(t.counts), Fault: t.fault}
}

// faulty keeps a fault of an answer that was counted.
func (t *tally) faulty(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fault == "" {
		t.fault = time.Now().Format("15:04:05.000") + " " + err.Error()
	}
}
