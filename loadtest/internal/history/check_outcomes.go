package history

// everyAnswerHasItsOutcome (I3): whoever was told of a reservation for good has its row,
// as asked for.
func (c *checker) everyAnswerHasItsOutcome() {
	seen := make(map[string]bool)
	for _, e := range c.events {
		if !e.told() || seen[e.RID] {
			continue
		}
		seen[e.RID] = true
		o, ordered := c.orders[e.RID]
		_, closed := c.releases[e.RID]
		switch {
		case !ordered && !closed:
			c.violation("I3", "%s was answered %d with reservation %s in sale %s, which has no outcome", e.User, e.Status, e.RID, e.Sale)
		case ordered && (o.User != e.User || o.Sale != e.Sale):
			c.violation("I3", "%s was answered with reservation %s in sale %s; its order is of %s in sale %s", e.User, e.RID, e.Sale, o.User, o.Sale)
		}
	}
}

// acceptedIsNotRejected (I3): whoever was answered 202 or 201 has bought. A 200 may repeat
// that a reservation was rejected, and a 503 promises nothing.
func (c *checker) acceptedIsNotRejected(mayReject func(Order) bool) {
	seen := make(map[string]bool)
	for _, e := range c.events {
		if !e.accepted() || seen[e.RID] {
			continue
		}
		seen[e.RID] = true
		o, ordered := c.orders[e.RID]
		switch {
		case ordered && o.State == "rejected" && (mayReject == nil || !mayReject(o)):
			c.violation("I3", "%s was answered %d with reservation %s in sale %s, which is rejected as %s", e.User, e.Status, e.RID, e.Sale, o.Reason)
		case !ordered && c.releases[e.RID].Status == "rejected":
			c.violation("I3", "%s was answered %d with reservation %s in sale %s, which is rejected, and was never an order", e.User, e.Status, e.RID, e.Sale)
		}
	}
}

// everyOrderWasAskedFor (I6): each order is of somebody who was told of it, or who tried and
// could not know; or it replaces one that was paid too late.
func (c *checker) everyOrderWasAskedFor() {
	told, maybe := make(map[string]bool), make(map[boundKey]bool)
	for _, e := range c.events {
		if e.Kind != Attempt {
			continue
		}
		told[e.RID] = true
		if e.unknown() {
			maybe[boundKey{e.Sale, e.User, e.Key}] = true
		}
	}
	for _, o := range c.Orders {
		if _, known := c.orders[o.Replaces]; known {
			continue
		}
		if !told[o.ID] && !maybe[boundKey{o.Sale, o.User, o.Key}] {
			c.violation("I6", "order %s of %s in sale %s: no attempt was answered with it, and none of that buyer was left without an answer", o.ID, o.User, o.Sale)
		}
	}
}
