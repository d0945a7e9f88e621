package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Violation is something that must never be.
type Violation struct {
	Invariant string // I1 … I7
	Detail    string
}

// Check holds what clients saw against what Postgres ended with, once everything has come
// to rest. The events may come in any order. Orders that mayReject, nil for none, may be
// rejected although their attempts were accepted.
func Check(events []Event, s State, mayReject func(Order) bool) []Violation {
	c := newChecker(events, s)
	c.neverOversold()
	c.oneHolderASlot()
	c.everyAnswerHasItsOutcome()
	c.acceptedIsNotRejected(mayReject)
	c.everyPaymentIsKept()
	c.everyPaymentCountsOnce()
	c.unitsAddUp()
	c.givenBackOnce()
	c.everyOrderWasAskedFor()
	c.statusesGoForward()
	c.cancelledIsCancelled()
	return c.found
}

// checker is a history and a state, indexed, and what was found so far.
type checker struct {
	State
	events   []Event
	orders   map[string]Order   // by id
	releases map[string]Release // by rid
	paid     map[string]bool    // whose payments are of this history, by order: the rows are of all
	found    []Violation
}

func newChecker(events []Event, s State) *checker {
	c := &checker{
		State: s, events: slices.Clone(events),
		orders: make(map[string]Order), releases: make(map[string]Release), paid: make(map[string]bool),
	}
	slices.SortStableFunc(c.events, func(a, b Event) int { return cmp.Compare(a.Ended, b.Ended) })
	for _, o := range s.Orders {
		c.orders[o.ID], c.paid[o.ID] = o, true
	}
	for _, r := range s.Releases {
		c.releases[r.RID], c.paid[r.RID] = r, true
	}
	for _, e := range events {
		if e.Kind == Pay {
			c.paid[e.Order] = true
		}
	}
	return c
}

func (c *checker) violation(invariant, format string, args ...any) {
	c.found = append(c.found, Violation{Invariant: invariant, Detail: fmt.Sprintf(format, args...)})
}

// sorted are a map's keys in an order that does not change.
func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
