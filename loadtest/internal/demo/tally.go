package demo

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/record"
	"sluice/shared/sale"
)

// Phases that latencies are kept apart by.
const (
	phaseEarly   = "early"
	phaseInStock = "in_stock"
	phaseSoldOut = "sold_out"
)

// earlyMargin is how long before the opening an attempt must be sent to count as
// early, whatever its way takes.
const earlyMargin = openingGap / 3

// Classes of the latencies of ticket reads: those that are answered at once, and
// those that a gateway holds until there is news.
const (
	classTicket = "ticket.read"
	classHeld   = "ticket.held"
)

// tally is what the buyers have seen so far.
type tally struct {
	opensAt   time.Time
	soldOutAt atomic.Int64 // unix ns of the first sold-out answer; 0 before
	latencies record.Latencies
	winners   record.Winners

	mu       sync.Mutex
	answers  map[string]map[string]int // by phase and outcome
	fault    error                     // the first
	finished int                       // tickets with an outcome
	hanging  []error                   // tickets without one when the time was up
}

func newTally(opensAt time.Time) *tally {
	return &tally{opensAt: opensAt, answers: make(map[string]map[string]int)}
}

// answered counts one answer.
func (t *tally) answered(a attack.Answer) {
	if a.Outcome == sale.SoldOut.String() {
		t.soldOutAt.CompareAndSwap(0, time.Now().UnixNano())
	}
	phase := t.phaseOf(a)
	t.latencies.Add(phase+"."+a.Outcome, a.Latency)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.answers[phase] == nil {
		t.answers[phase] = make(map[string]int)
	}
	t.answers[phase][a.Outcome]++
	if t.fault == nil {
		t.fault = a.Err
	}
}

// phaseOf says what the sale was like, as buyers knew it, when the attempt was
// sent. A sold-out answer speaks for itself.
func (t *tally) phaseOf(a attack.Answer) string {
	soldOutAt := t.soldOutAt.Load()
	switch {
	case a.Sent.Before(t.opensAt.Add(-earlyMargin)):
		return phaseEarly
	case a.Outcome == sale.SoldOut.String(), soldOutAt != 0 && a.Sent.UnixNano() > soldOutAt:
		return phaseSoldOut
	default:
		return phaseInStock
	}
}

// outcome counts a ticket that was polled to its end, or was not.
func (t *tally) outcome(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.hanging = append(t.hanging, err)
		return
	}
	t.finished++
}

// total counts the answers so far.
func (t *tally) total() int {
	return t.sent(phaseEarly) + t.sent(phaseInStock) + t.sent(phaseSoldOut)
}

// count is how many answers of a phase had that outcome.
func (t *tally) count(phase, outcome string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.answers[phase][outcome]
}

// sent is how many answers a phase had.
func (t *tally) sent(phase string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, count := range t.answers[phase] {
		n += count
	}
	return n
}

// sum is how many answers had that outcome in any phase.
func (t *tally) sum(outcome string) int {
	return t.count(phaseEarly, outcome) + t.count(phaseInStock, outcome) + t.count(phaseSoldOut, outcome)
}

// line says how far the crowd has come.
func (t *tally) line() string {
	total := t.total()
	t.mu.Lock()
	defer t.mu.Unlock()
	sums := make(map[string]int)
	for _, outcomes := range t.answers {
		for outcome, n := range outcomes {
			sums[outcome] += n
		}
	}
	parts := []string{fmt.Sprintf("%6d of %d attempts", total, Attempts)}
	for _, outcome := range slices.Sorted(maps.Keys(sums)) {
		parts = append(parts, fmt.Sprintf("%s %d", outcome, sums[outcome]))
	}
	parts = append(parts, fmt.Sprintf("tickets with an outcome %d", t.finished))
	return strings.Join(parts, "  ")
}
