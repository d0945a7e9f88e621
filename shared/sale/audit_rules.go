package sale

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// neverOversold is I1: orders that hold a unit are at most the total.
func (a *audit) neverOversold() {
	if n := a.holding(); n > a.Total {
		a.violate("I1", "%d orders hold a unit of a total of %d", n, a.Total)
	}
}

// oneHolderASlot is I2: one order at most holds a (user, slot), and slots stay
// within the limit.
func (a *audit) oneHolderASlot() {
	type slotOf struct {
		user string
		slot int
	}
	holders := make(map[slotOf][]string)
	for _, o := range a.Orders {
		if !o.HoldsSlot {
			continue
		}
		key := slotOf{o.UserID, o.Slot}
		holders[key] = append(holders[key], o.RID)
		if o.Slot < 1 || o.Slot > a.PerUserLimit {
			a.violate("I2", "order %s of user %s holds slot %d, the limit is %d", o.RID, o.UserID, o.Slot, a.PerUserLimit)
		}
	}
	inOrder := func(x, y slotOf) int { return cmp.Or(cmp.Compare(x.user, y.user), cmp.Compare(x.slot, y.slot)) }
	for _, key := range slices.SortedFunc(maps.Keys(holders), inOrder) {
		if rids := holders[key]; len(rids) > 1 {
			slices.Sort(rids)
			a.violate("I2", "slot %d of user %s is held by orders %v", key.slot, key.user, rids)
		}
	}
	if a.atRest {
		a.sameSlots()
		a.slotsPoint()
		a.keysPoint()
	}
}

// sameSlots is the part of I2 that holds at rest: Redis has those slots taken that
// orders hold, so that nobody buys twice and nobody is kept out.
func (a *audit) sameSlots() {
	held := make(map[string]bool)
	for _, o := range a.Orders {
		if o.HoldsSlot {
			held[fmt.Sprintf("%s#%d", o.UserID, o.Slot)] = true
		}
	}
	for _, name := range slices.Sorted(slices.Values(a.Redis.Buyers)) {
		if !held[name] {
			a.violate("I2", "Redis has slot %s taken, no order holds it", name)
		}
		delete(held, name)
	}
	for _, name := range slices.Sorted(maps.Keys(held)) {
		a.violate("I2", "an order holds slot %s, Redis has it free", name)
	}
}

// oneOutcomeEach is I3: whatever was accepted has exactly one order row once the
// sale is at rest, and no trace of it is ever lost.
func (a *audit) oneOutcomeEach() {
	for _, rid := range slices.Sorted(maps.Keys(a.orders)) {
		if n := len(a.orders[rid]); n > 1 {
			a.violate("I3", "reservation %s has %d order rows", rid, n)
		}
	}
	for _, s := range a.Client {
		_, ticket := a.tickets[s.RID]
		if s.Accepted && !ticket && !a.handed[s.RID] && len(a.orders[s.RID]) == 0 {
			a.violate("I3", "reservation %s was answered 202 and no store knows it", s.RID)
		}
		if s.Accepted && slices.ContainsFunc(a.orders[s.RID], superseded) {
			a.violate("I3", "reservation %s was answered 202 and is rejected as superseded", s.RID)
		}
	}
	if a.final {
		a.nothingLeftBehind()
	}
}

// nothingLeftBehind is the part of I3 that holds at rest.
func (a *audit) nothingLeftBehind() {
	for _, rid := range a.inFlight {
		a.violate("I3", "reservation %s has no order row", rid)
	}
	released := make(map[string]bool, len(a.Releases))
	for _, r := range a.Releases {
		released[r.RID] = true
	}
	for _, t := range a.Redis.Tickets {
		switch {
		case t.Status == StatusQueued:
			a.violate("I3", "ticket %s of user %s is still queued", t.RID, t.UserID)
		case t.Status.Closed() && len(a.orders[t.RID]) == 0 && !released[t.RID]:
			a.violate("I3", "ticket %s of user %s is %s, Postgres has neither its order nor its release", t.RID, t.UserID, t.Status)
		}
	}
	if a.Redis.HandOff > 0 {
		a.violate("I3", "%d reservations are still in handoff", a.Redis.HandOff)
	}
	// A load counts every rank as served that it finds; some of them may have no ticket.
	if a.atRest && a.Redis.Served != a.Redis.Rank {
		a.violate("I3", "Redis counts %d reservations as served, %d ranks were given", a.Redis.Served, a.Redis.Rank)
	}
	if unpaid := a.unpaid(); a.atRest && a.Redis.Unpaid != unpaid {
		a.violate("I3", "Redis counts %d reservations as unpaid, of its tickets %d are", a.Redis.Unpaid, unpaid)
	}
}

// unpaid counts the tickets whose reservations may yet come back.
func (a *audit) unpaid() (n int64) {
	for _, t := range a.Redis.Tickets {
		if t.Status != StatusPaid && !t.Status.Closed() {
			n++
		}
	}
	return n
}

// superseded orders came after a load had counted: no epoch had a ticket of theirs.
func superseded(o Order) bool { return o.Reason == ReasonSuperseded }

// unitsAddUp is I4: Postgres agrees with itself always, and with Redis at rest.
func (a *audit) unitsAddUp() {
	free := a.Total - a.Held
	if a.Held < 0 || free < 0 {
		a.violate("I4", "%d units held of a total of %d", a.Held, a.Total)
	}
	if n := a.holding(); n != a.Held {
		a.violate("I4", "the stock row says %d units are held, %d orders hold one", a.Held, n)
	}
	if adjusted := a.Adjusted(); a.Configured+adjusted != a.Total {
		a.violate("I4", "the total is %d, %d units were configured and adjustments make that %+d", a.Total, a.Configured, adjusted)
	}
	if a.final && a.Redis.Stock != free {
		a.violate("I4", "Redis has %d units in stock, Postgres has %d free (%d reservations without an order, %d releases not applied, %d adjustments not finished)",
			a.Redis.Stock, free, len(a.inFlight), a.Unapplied, a.Adjusting())
	}
	if a.atRest && a.Redis.SoldOut != (a.Redis.Stock <= 0) {
		a.violate("I4", "Redis has %d units in stock, its sold-out flag is %v", a.Redis.Stock, a.Redis.SoldOut)
	}
	if a.atRest {
		a.sameAdjustments()
	}
}

// sameAdjustments is the part of I4 that holds at rest: Redis knows those adjustments
// that the total has, so that none of them moves units again.
func (a *audit) sameAdjustments() {
	known := make(map[string]int64, len(a.Redis.Adjusted))
	for _, r := range a.Redis.Adjusted {
		known[r.ID] = r.Delta
	}
	for _, row := range a.Adjustments {
		if row.State.Counted() && known[row.ID] != row.Delta {
			a.violate("I4", "adjustment %s is %+d units in Postgres, %+d in Redis", row.ID, row.Delta, known[row.ID])
		}
		if row.State.Counted() {
			delete(known, row.ID)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(known)) {
		a.violate("I4", "adjustment %s is %+d units in Redis, none in Postgres", id, known[id])
	}
}

// configuredAlike is the part of I4 that makes Redis sell what Postgres says: until it was
// told, the sale is not at rest.
func (a *audit) configuredAlike() {
	if !a.final {
		return
	}
	for _, difference := range a.Redis.Differs {
		a.violate("I4", "Redis has the sale otherwise: %s", difference)
	}
}

// givenBackOnce is I5: what Redis was given back is what Postgres let go, once a
// reservation.
func (a *audit) givenBackOnce() {
	var let int64
	times := make(map[string]int)
	for _, r := range a.Releases {
		let += r.Give
		if times[r.RID]++; times[r.RID] == 2 {
			a.violate("I5", "reservation %s is released more than once", r.RID)
		}
		a.releaseFits(r)
	}
	for _, o := range a.Orders {
		if o.State.TicketStatus().Closed() && times[o.RID] == 0 {
			a.violate("I5", "order %s is %s and has no release", o.RID, o.State)
		}
	}
	r := a.Redis
	if r.Loaded-r.Accepted+r.Given != r.Stock {
		a.violate("I5", "Redis: %d loaded − %d accepted + %d given back is not the %d in stock", r.Loaded, r.Accepted, r.Given, r.Stock)
	}
	// A release without a mark may have reached Redis or not.
	if (a.Still || a.final) && (r.Given < let-int64(a.Unapplied) || r.Given > let) {
		a.violate("I5", "Redis was given back %d units, the releases let go of %d (%d releases not applied)", r.Given, let, a.Unapplied)
	}
}

// releaseFits checks one release against the order it lets go, which is there unless the
// reservation was rejected with a dead letter: rows are never deleted.
func (a *audit) releaseFits(r Release) {
	if r.Give < 0 || r.Give > 1 {
		a.violate("I5", "the release of %s gives back %d units", r.RID, r.Give)
	}
	if len(a.orders[r.RID]) == 0 && (r.Status != StatusRejected || !a.rowless[r.RID]) {
		a.violate("I3", "reservation %s is released as %s and has no order row", r.RID, r.Status)
	}
	for _, o := range a.orders[r.RID] {
		if r.Status != o.State.TicketStatus() || r.Reason != o.Reason {
			a.violate("I3", "the release of %s closes it as %s, its order is %s", r.RID, outcome(string(r.Status), r.Reason), outcome(string(o.State), o.Reason))
		}
		if r.Give > 0 && o.HoldsUnit {
			a.violate("I5", "the release of %s gives back a unit that its order still holds", r.RID)
		}
	}
}

// outcome is a status or a state with the reason of a rejection.
func outcome(status string, reason Reason) string {
	if reason == ReasonNone {
		return status
	}
	return status + " as " + string(reason)
}

// ordersTrace is I6: every order is of a reservation that the stream or Redis
// knows, and of the same buyer.
func (a *audit) ordersTrace() {
	for _, o := range a.Orders {
		t, ticket := a.tickets[o.RID]
		switch {
		case !ticket && !a.handed[o.RID]:
			a.violate("I6", "order %s of user %s traces to no hand-over and no ticket", o.RID, o.UserID)
		case ticket && (t.UserID != o.UserID || t.Slot != o.Slot):
			a.violate("I6", "order %s is of user %s slot %d, its ticket of user %s slot %d", o.RID, o.UserID, o.Slot, t.UserID, t.Slot)
		case ticket && t.Rank != o.Rank:
			a.violate("I6", "order %s has rank %d, its ticket %d", o.RID, o.Rank, t.Rank)
		}
	}
}

// statusesForward is I7: no status that a buyer read goes back, and at rest a
// ticket shows what its order says.
func (a *audit) statusesForward() {
	for _, s := range a.Client {
		seen := s.Statuses
		if t, ok := a.tickets[s.RID]; ok {
			seen = append(slices.Clone(seen), t.Status)
		}
		for i := 1; i < len(seen); i++ {
			if seen[i] != seen[i-1] && !seen[i-1].CanBecome(seen[i]) {
				a.violate("I7", "ticket %s went from %s to %s", s.RID, seen[i-1], seen[i])
			}
		}
	}
	for _, o := range a.Orders { // those of open orders are a loop's
		if o.State.TicketStatus().Closed() && o.ShownState != o.State {
			a.violate("I7", "order %s is %s, what its ticket shows is noted as %q", o.RID, o.State, o.ShownState)
		}
	}
	if !a.final {
		return
	}
	for _, o := range a.Orders {
		t, ok := a.tickets[o.RID]
		want := o.State.TicketStatus()
		switch {
		case !ok && a.handed[o.RID] && !superseded(o):
			a.violate("I7", "order %s is %s and its ticket is gone", o.RID, o.State)
		case ok && t.Status != want:
			a.violate("I7", "ticket %s shows %s, its order says %s", o.RID, t.Status, want)
		}
	}
}

// undersellWhenInDoubt is I8: Redis never offers a unit that Postgres could not
// sell.
func (a *audit) undersellWhenInDoubt() {
	flying := int64(len(a.inFlight))
	if room := a.Total - a.Held - flying; (a.Still || a.final) && a.Redis.Stock > room {
		a.violate("I8", "Redis offers %d units, %d total − %d held − %d in flight leave %d", a.Redis.Stock, a.Total, a.Held, flying, room)
	}
}
