package sale

import "time"

// Model is the reference model of a sale's fast state: what the reserve, settle,
// release and adjust scripts must decide, said once without Redis. The scripts are
// driven beside it in tests; nothing in production runs it.
type Model struct {
	snapshot Snapshot
	rebuy    bool
	allow    map[string]bool // nil when everybody may buy

	buyers  map[slotOf]bool   // slots that are taken
	slots   map[slotOf]string // the last rid of each slot
	bound   map[keyOf]string  // idempotency key → rid
	tickets map[string]*modelTicket
	handoff map[string]bool

	adjusted map[string]int64 // units that an adjustment moved; 0 for a refused one
}

type slotOf struct {
	user string
	slot int
}

type keyOf struct{ user, key string }

type modelTicket struct {
	Ticket
	served bool
}

// NewModel opens a model for s with its whole stock, at version 1.
func NewModel(s Sale, allow []string) *Model {
	m := &Model{
		snapshot: Snapshot{SaleID: s.ID, Epoch: 1, Version: 1, SoldOut: s.Total <= 0, OpensAt: s.OpensAt, ClosesAt: s.ClosesAt,
			Limit: s.PerUserLimit, Total: s.Total, Stock: s.Total},
		rebuy: s.RebuyAfterRelease, buyers: map[slotOf]bool{}, slots: map[slotOf]string{}, bound: map[keyOf]string{},
		tickets: map[string]*modelTicket{}, handoff: map[string]bool{}, adjusted: map[string]int64{},
	}
	if s.Eligibility.HasAllowList {
		m.allow = make(map[string]bool, len(allow))
		for _, user := range allow {
			m.allow[user] = true
		}
	}
	return m
}

// Snapshot is the model's state; Now is zero.
func (m *Model) Snapshot() Snapshot { return m.snapshot }

// HandOff is how many reservations still wait for their hand-over.
func (m *Model) HandOff() int { return len(m.handoff) }

// Adjusted is how many units an adjustment moved; 0 for a refused one, and for none.
func (m *Model) Adjusted(id string) int64 { return m.adjusted[id] }

// Ticket finds a ticket by rid.
func (m *Model) Ticket(rid string) (Ticket, bool) {
	t, ok := m.tickets[rid]
	if !ok {
		return Ticket{}, false
	}
	return t.Ticket, true
}

// Reserve decides attempts in their order, at now.
func (m *Model) Reserve(now time.Time, attempts []Attempt) []Decision {
	return m.reserve(now, false, attempts)
}

// ReserveLate decides the attempt of a payment that came too late: the window and a
// pause do not matter.
func (m *Model) ReserveLate(now time.Time, attempt Attempt) Decision {
	return m.reserve(now, true, []Attempt{attempt})[0]
}

func (m *Model) reserve(now time.Time, late bool, attempts []Attempt) []Decision {
	decisions := make([]Decision, len(attempts))
	for i, a := range attempts {
		decisions[i] = m.decide(now, late, a)
	}
	if m.snapshot.Stock <= 0 && !m.snapshot.SoldOut {
		m.bump(true)
	}
	return decisions
}

func (m *Model) decide(now time.Time, late bool, a Attempt) Decision {
	if _, known := m.tickets[a.RID]; known {
		return m.held(DecidedAccepted, a.RID)
	}
	if rid, known := m.bound[keyOf{a.UserID, a.Key}]; known {
		return m.held(DecidedReplay, rid)
	}
	phase := PhaseAt(m.snapshot.OpensAt, m.snapshot.ClosesAt, now)
	slot := m.freeSlot(a.UserID)
	switch {
	case m.snapshot.Paused && !late:
		return Decision{Code: DecidedPaused}
	case phase == Scheduled && !late:
		return Decision{Code: DecidedNotOpen}
	case phase == Closed && !late:
		return Decision{Code: DecidedClosed}
	case slot == 0 && (a.Key != "" || m.newest(a.UserID) == ""):
		return Decision{Code: DecidedLimit}
	case slot == 0:
		return m.held(DecidedReplay, m.newest(a.UserID))
	case m.allow != nil && !m.allow[a.UserID]:
		return Decision{Code: DecidedNotAllowed}
	case m.snapshot.Stock <= 0:
		return Decision{Code: DecidedSoldOut}
	}
	return m.accept(now, a, slot)
}

func (m *Model) accept(now time.Time, a Attempt, slot int) Decision {
	m.snapshot.Stock--
	m.snapshot.Rank++
	m.snapshot.Accepted++
	m.snapshot.Unpaid++
	m.tickets[a.RID] = &modelTicket{Ticket: Ticket{
		Reservation: Reservation{RID: a.RID, UserID: a.UserID, Slot: slot, Key: a.Key, Rank: m.snapshot.Rank, AcceptedAt: now},
		Status:      StatusQueued, UpdatedAt: now,
	}}
	m.buyers[slotOf{a.UserID, slot}] = true
	m.slots[slotOf{a.UserID, slot}] = a.RID
	m.bound[keyOf{a.UserID, a.Key}] = a.RID
	m.handoff[a.RID] = true
	return m.held(DecidedAccepted, a.RID)
}

func (m *Model) held(code DecisionCode, rid string) Decision {
	return Decision{Code: code, Ticket: m.tickets[rid].Ticket, InHandOff: m.handoff[rid]}
}

// freeSlot is the user's first free slot; 0 when all are taken.
func (m *Model) freeSlot(user string) int {
	for slot := 1; slot <= m.snapshot.Limit; slot++ {
		if !m.buyers[slotOf{user, slot}] {
			return slot
		}
	}
	return 0
}

func (m *Model) newest(user string) string {
	var newest string
	var rank int64
	for slot := 1; slot <= m.snapshot.Limit; slot++ {
		rid := m.slots[slotOf{user, slot}]
		if t := m.tickets[rid]; t != nil && t.Rank > rank {
			newest, rank = rid, t.Rank
		}
	}
	return newest
}

// bump raises the version, as at every change that a gateway must learn of.
func (m *Model) bump(soldOut bool) {
	m.snapshot.Version++
	m.snapshot.SoldOut = soldOut
}
