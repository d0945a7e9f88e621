package sale

import "time"

// HandedOver takes rids off the handoff list.
func (l *Ledger) HandedOver(rids []string) {
	for _, rid := range rids {
		delete(l.handoff, rid)
	}
}

// Settle shows orders on their tickets, at now.
func (l *Ledger) Settle(now time.Time, settlements []Settlement) []Settled {
	results := make([]Settled, len(settlements))
	for i, s := range settlements {
		results[i] = l.settle(now, s)
	}
	return results
}

func (l *Ledger) settle(now time.Time, s Settlement) Settled {
	t := l.tickets[s.RID]
	if t == nil {
		return SettleUnknown
	}
	l.serve(t)
	if !t.Status.CanBecome(s.Status) {
		return SettleAlready
	}
	t.Status, t.UpdatedAt, t.PayBy = s.Status, now, s.PayBy
	if s.Status == StatusPaid {
		l.snapshot.Unpaid--
	}
	return SettleDone
}

// Release closes tickets and gives their units back, at now.
func (l *Ledger) Release(now time.Time, releases []Release) []Released {
	results := make([]Released, len(releases))
	for i, r := range releases {
		results[i] = l.release(now, r)
	}
	return results
}

func (l *Ledger) release(now time.Time, r Release) Released {
	t := l.tickets[r.RID]
	if t == nil {
		return ReleaseUnknown
	}
	l.serve(t)
	if t.Status.Closed() {
		return ReleaseAlready
	}
	if t.Status != StatusPaid {
		l.snapshot.Unpaid--
	}
	t.Status, t.Reason, t.UpdatedAt, t.PayBy = r.Status, r.Reason, now, time.Time{}
	l.freeSlotOf(t.Ticket, r)
	if key := (keyOf{t.UserID, ""}); t.Key == "" && l.bound[key] == r.RID {
		delete(l.bound, key)
	}
	l.snapshot.Given += r.Give
	l.snapshot.Stock += r.Give
	if r.Give > 0 {
		l.bump(l.snapshot.Stock <= 0)
	} else {
		l.bump(l.snapshot.SoldOut)
	}
	return ReleaseDone
}

func (l *Ledger) freeSlotOf(t Ticket, r Release) {
	at := slotOf{t.UserID, t.Slot}
	switch {
	case l.slots[at] != t.RID:
	case r.Holder != "":
		l.slots[at] = r.Holder
	case l.rebuy || r.Status == StatusRejected:
		delete(l.buyers, at)
	}
}

// serve counts a ticket's outcome once, whoever brings it.
func (l *Ledger) serve(t *ledgerTicket) {
	delete(l.handoff, t.RID)
	if !t.served {
		t.served = true
		l.snapshot.Served++
	}
}
