package sale

import (
	"fmt"
	"maps"
	"slices"
)

// slotName and keyName are what Redis finds a reservation by.
func (r Reservation) slotName() string { return fmt.Sprintf("%s#%d", r.UserID, r.Slot) }
func (r Reservation) keyName() string  { return r.UserID + "\n" + r.Key }

// slotsPoint is the part of I2 that shows buyers their own orders at rest: a slot points to
// a reservation of that slot, to the one that holds it if one does, and every ticket's slot
// points somewhere.
func (a *audit) slotsPoint() {
	holders := make(map[string]string)
	for _, o := range a.Orders {
		if o.HoldsSlot {
			holders[o.slotName()] = o.RID
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Redis.Slots)) {
		rid := a.Redis.Slots[name]
		t, there := a.tickets[rid]
		holder, held := holders[name]
		switch {
		case held && rid != holder:
			a.violate("I2", "Redis has slot %s point to %s, order %s holds it", name, rid, holder)
		case !there && !held:
			a.violate("I2", "Redis has slot %s point to %s, which has no ticket", name, rid)
		case there && t.slotName() != name:
			a.violate("I2", "Redis has slot %s point to %s, a ticket of slot %s", name, rid, t.slotName())
		}
	}
	for _, t := range a.Redis.Tickets {
		if _, there := a.Redis.Slots[t.slotName()]; !there {
			a.violate("I2", "Redis has slot %s point to nothing, ticket %s is of it", t.slotName(), t.RID)
		}
	}
}

// keysPoint is the part of I2 that makes a repeated attempt find what it made: a key is
// bound to a reservation of its buyer made with it. One that no key was sent with may be
// made again once it is closed, so it is bound as long as it is open.
func (a *audit) keysPoint() {
	for _, name := range slices.Sorted(maps.Keys(a.Redis.Keys)) {
		rid := a.Redis.Keys[name]
		switch t, there := a.tickets[rid]; {
		case !there:
			a.violate("I2", "Redis has key %q bound to %s, which has no ticket", name, rid)
		case t.keyName() != name:
			a.violate("I2", "Redis has key %q bound to %s, the ticket of key %q", name, rid, t.keyName())
		case t.Key == "" && t.Status.Closed():
			a.violate("I2", "Redis has key %q bound to %s, which is %s", name, rid, t.Status)
		}
	}
	for _, t := range a.Redis.Tickets {
		open := !t.Status.Closed()
		bound, there := a.Redis.Keys[t.keyName()]
		switch {
		case !there && (open || t.Key != ""):
			a.violate("I2", "Redis has key %q bound to nothing, ticket %s is of it", t.keyName(), t.RID)
		case there && open && a.tickets[bound].Status.Closed():
			a.violate("I2", "Redis has key %q bound to %s, which is closed, ticket %s of it is open", t.keyName(), bound, t.RID)
		}
	}
}
