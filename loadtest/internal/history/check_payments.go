package history

// everyPaymentIsKept (I3): an event that was answered 200 is stored as it was told, and
// what is stored was applied.
func (c *checker) everyPaymentIsKept() {
	kept := make(map[string]Payment)
	for _, p := range c.Payments {
		kept[p.ID] = p
		if p.Result == "" && c.paid[p.Order] {
			c.violation("I3", "payment event %s of order %s was never applied", p.ID, p.Order)
		}
	}
	seen := make(map[string]bool)
	for _, e := range c.events {
		if e.Kind != Pay || e.Status != 200 || seen[e.Payment] {
			continue
		}
		seen[e.Payment] = true
		if p, stored := kept[e.Payment]; !stored {
			c.violation("I3", "payment event %s was answered 200 and is not stored", e.Payment)
		} else if p.Order != e.Order || p.Type != e.Type {
			c.violation("I3", "payment event %s, %s of order %s, is stored as %s of %s", e.Payment, e.Type, e.Order, p.Type, p.Order)
		}
	}
}

// matter is an order with those that took its place, and what was paid for them.
type matter struct {
	bought, refunded int // orders that were paid, and those of them whose payment went back
	payments         int // events that tell of the whole price, applied
	refunds          int // events, applied
	owed, settled    int // payments that are to be refunded, and those of them that were
}

// everyPaymentCountsOnce (I3): each payment of the whole price has bought one order, or is
// owed; each order that was bought was paid for once; and no refund is for nothing.
func (c *checker) everyPaymentCountsOnce() {
	matters := make(map[string]*matter) // by the order that began each
	of := func(order string) *matter {
		first := c.first(order)
		if matters[first] == nil {
			matters[first] = &matter{}
		}
		return matters[first]
	}
	for _, o := range c.Orders {
		if m := of(o.ID); o.Amount > 0 {
			m.count(o)
		}
	}
	for _, p := range c.Payments {
		if c.paid[p.Order] {
			c.countPayment(of(p.Order), p)
		}
	}
	for _, w := range c.Owed {
		if c.paid[w.Order] {
			of(w.Order).countOwed(w)
		}
	}
	for _, first := range sorted(matters) {
		c.addsUp(first, *matters[first])
	}
}

// first is the order that began a matter: the one whose place was taken first.
func (c *checker) first(order string) string {
	for range c.orders {
		o, ordered := c.orders[order]
		if !ordered || o.Replaces == "" {
			break
		}
		order = o.Replaces
	}
	return order
}

func (m *matter) count(o Order) {
	switch o.State {
	case "refunded":
		m.refunded++
		m.bought++
	case "paid":
		m.bought++
	}
}

func (m *matter) countOwed(w Owed) {
	m.owed++
	if w.Settled {
		m.settled++
	}
}

func (c *checker) countPayment(m *matter, p Payment) {
	o, ordered := c.orders[p.Order]
	switch {
	case p.Result == "" || ordered && o.Amount > 0 && p.Amount != o.Amount: // did nothing
	case p.Type == "payment.succeeded":
		m.payments++
	case p.Type == "refund.succeeded":
		m.refunds++
	}
}

func (c *checker) addsUp(first string, m matter) {
	switch {
	case m.bought > 1:
		c.violation("I3", "order %s and what took its place: %d were paid for", first, m.bought)
	case m.bought > m.payments:
		c.violation("I3", "order %s was paid for by nobody", first)
	case m.payments > m.bought+m.owed:
		c.violation("I3", "order %s: of %d payments %d bought something, and %d are owed", first, m.payments, m.bought, m.owed)
	case m.payments < m.bought+m.owed:
		c.violation("I3", "order %s: of %d payments %d bought something, and %d are owed all the same", first, m.payments, m.bought, m.owed)
	}
	if back := m.refunded + m.settled; back > m.refunds || back < min(m.refunds, m.payments) {
		c.violation("I3", "order %s: %d refunds, and %d payments have gone back", first, m.refunds, back)
	}
}
