package record

import (
	"slices"
	"strings"
	"sync"

	"sluice/shared/sale"
)

// Winner is a reservation that a buyer was told of, and everything they were
// told about it.
type Winner struct {
	RID      string
	Buyer    int    // number of the buyer in the crowd
	Ticket   string // as the buyer polls it
	Accepted bool   // answered 202
	Answers  int    // answers that carried this ticket
	Statuses []sale.Status
}

// Winners are the reservations that buyers were told of. The zero value is empty
// and ready; it is safe for concurrent use.
type Winners struct {
	mu    sync.Mutex
	byRID map[string]*Winner
}

// Answer records that a buyer was answered with a ticket. It reports whether this
// is the first answer that carries it; only then the status counts, because later
// answers may overtake each other.
func (w *Winners) Answer(buyer int, ticket, rid string, accepted bool, status sale.Status) (first bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	won := w.byRID[rid]
	if won == nil {
		if w.byRID == nil {
			w.byRID = make(map[string]*Winner)
		}
		won = &Winner{RID: rid, Buyer: buyer, Ticket: ticket, Statuses: []sale.Status{status}}
		w.byRID[rid] = won
	}
	won.Accepted = won.Accepted || accepted
	won.Answers++
	return won.Answers == 1
}

// Status records that a buyer read a status of the reservation, after all those
// recorded before.
func (w *Winners) Status(rid string, status sale.Status) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if won := w.byRID[rid]; won != nil {
		won.Statuses = append(won.Statuses, status)
	}
}

// All returns the winners by rid, which is their order of acceptance.
func (w *Winners) All() []Winner {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]Winner, 0, len(w.byRID))
	for _, won := range w.byRID {
		one := *won
		one.Statuses = slices.Clone(won.Statuses)
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b Winner) int { return strings.Compare(a.RID, b.RID) })
	return all
}

// Seen returns the winners as an audit takes them.
func (w *Winners) Seen() []sale.Seen {
	all := w.All()
	seen := make([]sale.Seen, len(all))
	for i, won := range all {
		seen[i] = sale.Seen{RID: won.RID, Accepted: won.Accepted, Statuses: won.Statuses}
	}
	return seen
}

// Last is the newest status the buyer read.
func (w Winner) Last() sale.Status { return w.Statuses[len(w.Statuses)-1] }
