package history

import "slices"

// after are the statuses that may follow one on a ticket, itself aside.
var after = map[string][]string{
	"queued":    {"confirmed", "paid", "expired", "cancelled", "rejected", "refunded"},
	"confirmed": {"paid", "expired", "cancelled", "refunded"},
	"paid":      {"refunded"},
}

// statusOf is what a ticket of an order in that state shows.
func statusOf(state string) string {
	if state == "pending" {
		return "confirmed"
	}
	return state
}

// statusesGoForward (I7): no answer shows an older status than one that was there before it
// was asked for, and none is newer than the row.
func (c *checker) statusesGoForward() {
	byRID := make(map[string][]Event)
	for _, e := range c.events {
		if e.RID != "" && e.Ticket != "" {
			byRID[e.RID] = append(byRID[e.RID], e)
		}
	}
	for _, rid := range sorted(byRID) {
		c.ticketGoesForward(rid, byRID[rid])
	}
}

// ticketGoesForward takes one ticket's answers by the time that they were there. Of two
// that overlap neither is the older.
func (c *checker) ticketGoesForward(rid string, seen []Event) {
	for i, later := range seen {
		for _, earlier := range seen[:i] {
			if earlier.Ended < later.Began && !follows(earlier.Ticket, later.Ticket) {
				c.violation("I7", "ticket of %s was %s, and then %s", rid, earlier.Ticket, later.Ticket)
				return
			}
		}
	}
	o, ordered := c.orders[rid]
	for _, e := range seen {
		switch {
		case !ordered && !follows(e.Ticket, "rejected"):
			c.violation("I6", "ticket of %s was %s, and it has no order", rid, e.Ticket)
			return
		case ordered && !follows(e.Ticket, statusOf(o.State)):
			c.violation("I7", "ticket of %s was %s, its order is %s", rid, e.Ticket, o.State)
			return
		}
	}
}

// cancelledIsCancelled (I7): an order that was cancelled for its buyer stays so.
func (c *checker) cancelledIsCancelled() {
	for _, e := range c.events {
		if o := c.orders[e.Order]; e.Kind == Cancel && e.Status == 200 && o.State != "cancelled" {
			c.violation("I7", "order %s was cancelled for %s, and is %s", e.Order, e.User, o.State)
		}
	}
}

func follows(earlier, later string) bool {
	return earlier == later || slices.Contains(after[earlier], later)
}
