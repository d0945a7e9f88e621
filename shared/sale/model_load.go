package sale

// Load is a load of the sale's next epoch, from fence to flip: of what was before,
// nothing stays but the version.
func (m *Model) Load(l Live, tickets []LoadTicket, adjusted []Adjustment) {
	m.buyers, m.slots, m.bound = map[slotOf]bool{}, map[slotOf]string{}, map[keyOf]string{}
	m.tickets, m.handoff, m.adjusted = map[string]*modelTicket{}, map[string]bool{}, map[string]int64{}
	for _, t := range tickets {
		m.loadTicket(t)
	}
	for _, a := range adjusted {
		m.adjusted[a.ID] = a.Delta
	}
	s := &m.snapshot
	s.Epoch, s.Total, s.Stock = l.Entry.Epoch, l.Total, l.Stock
	s.Rank, s.Accepted, s.Served, s.Unpaid, s.Given = l.Rank, l.Accepted, l.Served, l.Unpaid, l.Given
	m.bump(l.Stock <= 0)
}

// loadTicket gives the slot to who holds it, else to the last one who did.
func (m *Model) loadTicket(t LoadTicket) {
	m.tickets[t.RID] = &modelTicket{Ticket: t.Ticket, served: t.Status != StatusQueued}
	at, key := slotOf{t.UserID, t.Slot}, keyOf{t.UserID, t.Key}
	if t.HoldsSlot || !m.buyers[at] {
		m.slots[at] = t.RID
	}
	if t.HoldsSlot {
		m.buyers[at] = true
	}
	_, taken := m.bound[key]
	if !t.Status.Closed() || t.Key != "" && !taken {
		m.bound[key] = t.RID
	}
}
