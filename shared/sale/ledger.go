package sale

import "time"

// Ledger is the reference model of a sale's fast state: what the reserve, settle
// and release scripts must decide, said once without Redis. The scripts are
// driven beside it in tests; nothing in production runs it.
type Ledger struct {
	snapshot Snapshot
	rebuy    bool
	allow    map[string]bool // nil when everybody may buy

	buyers  map[slotOf]bool   // slots that are taken
	slots   map[slotOf]string // the last rid of each slot
	bound   map[keyOf]string  // idempotency key → rid
	tickets map[string]*ledgerTicket
	handoff map[string]bool
}

type slotOf struct {
	user string
	slot int
}

type keyOf struct{ user, key string }

type ledgerTicket struct {
	Ticket
	served bool
}

// NewLedger opens a ledger for s with its whole stock, at version 1.
func NewLedger(s Sale, allow []string) *Ledger {
	l := &Ledger{
		snapshot: Snapshot{SaleID: s.ID, Epoch: 1, Version: 1, SoldOut: s.Total <= 0, OpensAt: s.OpensAt, ClosesAt: s.ClosesAt,
			Limit: s.PerUserLimit, Total: s.Total, Stock: s.Total},
		rebuy: s.RebuyAfterRelease, buyers: map[slotOf]bool{}, slots: map[slotOf]string{}, bound: map[keyOf]string{},
		tickets: map[string]*ledgerTicket{}, handoff: map[string]bool{},
	}
	if s.Eligibility.HasAllowList {
		l.allow = make(map[string]bool, len(allow))
		for _, user := range allow {
			l.allow[user] = true
		}
	}
	return l
}

// Snapshot is the ledger's state; Now is zero.
func (l *Ledger) Snapshot() Snapshot { return l.snapshot }

// HandOff is how many reservations still wait for their hand-over.
func (l *Ledger) HandOff() int { return len(l.handoff) }

// Ticket finds a ticket by rid.
func (l *Ledger) Ticket(rid string) (Ticket, bool) {
	t, ok := l.tickets[rid]
	if !ok {
		return Ticket{}, false
	}
	return t.Ticket, true
}

// Reserve decides attempts in their order, at now.
func (l *Ledger) Reserve(now time.Time, attempts []Attempt) []Decision {
	decisions := make([]Decision, len(attempts))
	for i, a := range attempts {
		decisions[i] = l.decide(now, a)
	}
	if l.snapshot.Stock <= 0 && !l.snapshot.SoldOut {
		l.bump(true)
	}
	return decisions
}

func (l *Ledger) decide(now time.Time, a Attempt) Decision {
	if _, known := l.tickets[a.RID]; known {
		return l.held(DecidedAccepted, a.RID)
	}
	if rid, known := l.bound[keyOf{a.UserID, a.Key}]; known {
		return l.held(DecidedReplay, rid)
	}
	phase := PhaseAt(l.snapshot.OpensAt, l.snapshot.ClosesAt, now)
	slot := l.freeSlot(a.UserID)
	switch {
	case l.snapshot.Paused:
		return Decision{Code: DecidedPaused}
	case phase == Scheduled:
		return Decision{Code: DecidedNotOpen}
	case phase == Closed:
		return Decision{Code: DecidedClosed}
	case slot == 0 && (a.Key != "" || l.newest(a.UserID) == ""):
		return Decision{Code: DecidedLimit}
	case slot == 0:
		return l.held(DecidedReplay, l.newest(a.UserID))
	case l.allow != nil && !l.allow[a.UserID]:
		return Decision{Code: DecidedNotAllowed}
	case l.snapshot.Stock <= 0:
		return Decision{Code: DecidedSoldOut}
	}
	return l.accept(now, a, slot)
}

func (l *Ledger) accept(now time.Time, a Attempt, slot int) Decision {
	l.snapshot.Stock--
	l.snapshot.Rank++
	l.snapshot.Accepted++
	l.snapshot.Unpaid++
	l.tickets[a.RID] = &ledgerTicket{Ticket: Ticket{
		Reservation: Reservation{RID: a.RID, UserID: a.UserID, Slot: slot, Key: a.Key, Rank: l.snapshot.Rank, AcceptedAt: now},
		Status:      StatusQueued, UpdatedAt: now,
	}}
	l.buyers[slotOf{a.UserID, slot}] = true
	l.slots[slotOf{a.UserID, slot}] = a.RID
	l.bound[keyOf{a.UserID, a.Key}] = a.RID
	l.handoff[a.RID] = true
	return l.held(DecidedAccepted, a.RID)
}

func (l *Ledger) held(code DecisionCode, rid string) Decision {
	return Decision{Code: code, Ticket: l.tickets[rid].Ticket, InHandOff: l.handoff[rid]}
}

// freeSlot is the user's first free slot; 0 when all are taken.
func (l *Ledger) freeSlot(user string) int {
	for slot := 1; slot <= l.snapshot.Limit; slot++ {
		if !l.buyers[slotOf{user, slot}] {
			return slot
		}
	}
	return 0
}

func (l *Ledger) newest(user string) string {
	var newest string
	var rank int64
	for slot := 1; slot <= l.snapshot.Limit; slot++ {
		rid := l.slots[slotOf{user, slot}]
		if t := l.tickets[rid]; t != nil && t.Rank > rank {
			newest, rank = rid, t.Rank
		}
	}
	return newest
}

// bump raises the version, as at every change that a gateway must learn of.
func (l *Ledger) bump(soldOut bool) {
	l.snapshot.Version++
	l.snapshot.SoldOut = soldOut
}
