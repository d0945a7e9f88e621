package campaign

import (
	"sync"

	"github.com/google/uuid"

	"sluice/shared/sale"
)

// mostWinners bounds what is kept of winners for the audit, by all senders: at about 200
// bytes each.
const mostWinners = 400_000

// Winner is a reservation that a buyer was told of.
type Winner struct {
	RID      uuid.UUID     `json:"rid"`
	Sale     int           `json:"sale"`     // place in mix.Mix.Expanded
	Accepted bool          `json:"accepted"` // answered 202 or 201
	Statuses []sale.Status `json:"statuses"` // as they were told, without repetitions
}

// winners are safe for concurrent use.
type winners struct {
	mu         sync.Mutex
	most       int
	byRID      map[uuid.UUID]*Winner
	unrecorded int // answers with tickets beyond those that are kept
}

func newWinners(most int) *winners {
	return &winners{most: most, byRID: make(map[uuid.UUID]*Winner)}
}

// answer keeps a ticket that an attempt was answered with; first says that it is news,
// and kept. Only then its status counts: later answers may overtake each other.
func (w *winners) answer(rid uuid.UUID, saleIndex int, accepted bool, status sale.Status) (first bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	won := w.byRID[rid]
	switch {
	case won != nil:
		won.Accepted = won.Accepted || accepted
		return false
	case len(w.byRID) >= w.most:
		w.unrecorded++
		return false
	}
	w.byRID[rid] = &Winner{RID: rid, Sale: saleIndex, Accepted: accepted, Statuses: []sale.Status{status}}
	return true
}

// read keeps a status that was read of a ticket, after those before.
func (w *winners) read(rid uuid.UUID, status sale.Status) {
	w.mu.Lock()
	defer w.mu.Unlock()
	won := w.byRID[rid]
	if won != nil && won.Statuses[len(won.Statuses)-1] != status {
		won.Statuses = append(won.Statuses, status)
	}
}

func (w *winners) all() (all []Winner, unrecorded int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all = make([]Winner, 0, len(w.byRID))
	for _, won := range w.byRID {
		all = append(all, *won)
	}
	return all, w.unrecorded
}

// merged makes one of what several senders were told of a reservation. Which of them was
// told first nobody knows: the statuses are those of the one who was told most.
func merged(told []Winner) []Winner {
	places := make(map[uuid.UUID]int, len(told))
	var all []Winner
	for _, w := range told {
		place, known := places[w.RID]
		if !known {
			places[w.RID] = len(all)
			all = append(all, w)
			continue
		}
		all[place].Accepted = all[place].Accepted || w.Accepted
		if len(w.Statuses) > len(all[place].Statuses) {
			all[place].Statuses = w.Statuses
		}
	}
	return all
}

// Seen are a sale's winners as its audit takes them.
func (o Outcome) Seen(saleIndex int) []sale.Seen {
	var seen []sale.Seen
	for _, w := range o.Winners {
		if w.Sale == saleIndex {
			seen = append(seen, sale.Seen{RID: w.RID.String(), Accepted: w.Accepted, Statuses: w.Statuses})
		}
	}
	return seen
}
