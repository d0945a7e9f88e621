package history

type slot struct {
	sale, user string
	n          int
}

type buyer struct{ sale, user string }

// oneHolderASlot (I2): no two orders hold one slot, nobody holds more than the limit, and
// one idempotency key is one reservation.
func (c *checker) oneHolderASlot() {
	limits := make(map[string]int)
	for _, s := range c.Sales {
		limits[s.ID] = s.Limit
	}
	holders, held := make(map[slot]string), make(map[buyer]int)
	for _, o := range c.Orders {
		if !o.HoldsSlot {
			continue
		}
		at := slot{o.Sale, o.User, o.Slot}
		if other, taken := holders[at]; taken {
			c.violation("I2", "orders %s and %s hold slot %d of %s in sale %s", other, o.ID, o.Slot, o.User, o.Sale)
		}
		holders[at] = o.ID
		if held[buyer{o.Sale, o.User}]++; held[buyer{o.Sale, o.User}] == limits[o.Sale]+1 {
			c.violation("I2", "%s holds more than %d orders in sale %s", o.User, limits[o.Sale], o.Sale)
		}
	}
	c.oneReservationAKey()
}

type boundKey struct{ sale, user, key string }

func (c *checker) oneReservationAKey() {
	bound := make(map[boundKey]string)
	for _, e := range c.events {
		if !e.told() || e.Key == "" {
			continue // without a key one may buy again once a ticket is closed
		}
		at := boundKey{e.Sale, e.User, e.Key}
		if other, ok := bound[at]; ok && other != e.RID {
			c.violation("I2", "key %q of %s in sale %s was answered with %s and with %s", e.Key, e.User, e.Sale, other, e.RID)
		}
		bound[at] = e.RID
	}
}
