package history

// neverOversold (I1): the orders that hold a unit are no more than there are units.
func (c *checker) neverOversold() {
	for _, s := range c.Sales {
		if holding := c.holding(s.ID); holding > s.Total {
			c.violation("I1", "sale %s: %d orders hold one of %d units", s.ID, holding, s.Total)
		}
	}
}

// unitsAddUp (I4): the stock row says what the rows of orders and adjustments say.
func (c *checker) unitsAddUp() {
	for _, s := range c.Sales {
		if holding := c.holding(s.ID); holding != s.Held {
			c.violation("I4", "sale %s: %d units are held, %d orders hold one", s.ID, s.Held, holding)
		}
		if total := s.Configured + c.adjusted(s.ID); total != s.Total {
			c.violation("I4", "sale %s: its total is %d, with all adjustments it should be %d", s.ID, s.Total, total)
		}
	}
}

// givenBackOnce (I5): no unit goes back that an order holds, and none stays away that none does.
func (c *checker) givenBackOnce() {
	for _, r := range c.Releases {
		if o, ok := c.orders[r.RID]; ok && o.HoldsUnit && r.Give > 0 {
			c.violation("I5", "order %s holds a unit that was given back as %s", r.RID, r.Status)
		}
	}
	for _, o := range c.Orders {
		r, released := c.releases[o.ID]
		switch {
		case o.State != "expired" && o.State != "cancelled":
		case !released:
			c.violation("I5", "order %s is %s, and its unit was never given back", o.ID, o.State)
		case r.Give != 1:
			c.violation("I5", "order %s is %s, and %d units were given back", o.ID, o.State, r.Give)
		}
	}
}

func (c *checker) holding(saleID string) (n int64) {
	for _, o := range c.Orders {
		if o.Sale == saleID && o.HoldsUnit {
			n++
		}
	}
	return n
}

// adjusted are the units that operators added: more of them count at once, fewer once
// Redis has let go of them.
func (c *checker) adjusted(saleID string) (units int64) {
	for _, a := range c.Adjustments {
		if a.Sale == saleID && (a.State == "applied" || a.Delta > 0 && a.State == "counted") {
			units += a.Delta
		}
	}
	return units
}
