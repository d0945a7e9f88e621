package sale

import "time"

// HandedOver takes rids off the handoff list.
func (m *Model) HandedOver(rids []string) {
	for _, rid := range rids {
		delete(m.handoff, rid)
	}
}

// Settle shows orders on their tickets, at now.
func (m *Model) Settle(now time.Time, settlements []Settlement) []Settled {
	results := make([]Settled, len(settlements))
	for i, s := range settlements {
		results[i] = m.settle(now, s)
	}
	return results
}

func (m *Model) settle(now time.Time, s Settlement) Settled {
	t := m.tickets[s.RID]
	if t == nil {
		return SettleUnknown
	}
	m.serve(t)
	if !t.Status.CanBecome(s.Status) {
		return SettleAlready
	}
	t.Status, t.UpdatedAt, t.PayBy = s.Status, now, s.PayBy
	if s.Status == StatusPaid {
		m.snapshot.Unpaid--
	}
	return SettleDone
}

// Release closes tickets and gives their units back, at now.
func (m *Model) Release(now time.Time, releases []Release) []Released {
	results := make([]Released, len(releases))
	for i, r := range releases {
		results[i] = m.release(now, r)
	}
	return results
}

func (m *Model) release(now time.Time, r Release) Released {
	t := m.tickets[r.RID]
	if t == nil {
		return ReleaseUnknown
	}
	m.serve(t)
	if t.Status.Closed() {
		return ReleaseAlready
	}
	if t.Status != StatusPaid {
		m.snapshot.Unpaid--
	}
	t.Status, t.Reason, t.UpdatedAt, t.PayBy = r.Status, r.Reason, now, time.Time{}
	m.freeSlotOf(t.Ticket, r)
	if key := (keyOf{t.UserID, ""}); t.Key == "" && m.bound[key] == r.RID {
		delete(m.bound, key)
	}
	m.snapshot.Given += r.Give
	m.snapshot.Stock += r.Give
	if r.Give > 0 {
		m.bump(m.snapshot.Stock <= 0)
	} else {
		m.bump(m.snapshot.SoldOut)
	}
	return ReleaseDone
}

func (m *Model) freeSlotOf(t Ticket, r Release) {
	at := slotOf{t.UserID, t.Slot}
	switch {
	case m.slots[at] != t.RID:
	case r.Holder != "":
		m.slots[at] = r.Holder
	case m.rebuy || r.Status == StatusRejected:
		delete(m.buyers, at)
	}
}

// Adjust moves total and stock.
func (m *Model) Adjust(adjustments []Adjustment) []AdjustResult {
	results := make([]AdjustResult, len(adjustments))
	moved := false
	for i, a := range adjustments {
		code := m.adjust(a)
		moved = moved || code == AdjustDone
		results[i] = AdjustResult{Code: code, Stock: m.snapshot.Stock}
	}
	if moved {
		m.bump(m.snapshot.Stock <= 0)
	}
	return results
}

func (m *Model) adjust(a Adjustment) Adjusted {
	units, known := m.adjusted[a.ID]
	switch {
	case known && units == 0:
		return AdjustUnsold
	case known:
		return AdjustAlready
	case m.snapshot.Stock+a.Delta < 0:
		m.adjusted[a.ID] = 0
		return AdjustUnsold
	}
	m.adjusted[a.ID] = a.Delta
	m.snapshot.Stock += a.Delta
	m.snapshot.Total += a.Delta
	return AdjustDone
}

// serve counts a ticket's outcome once, whoever brings it.
func (m *Model) serve(t *modelTicket) {
	delete(m.handoff, t.RID)
	if !t.served {
		t.served = true
		m.snapshot.Served++
	}
}
