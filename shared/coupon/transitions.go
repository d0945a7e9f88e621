package coupon

import "time"

// Happened is an event of an instance, as it is written.
type Happened struct {
	Event   Event
	OrderID string // whose lock, redemption or return it is; else ""
	Cycle   int64  // that the instance is in then
}

// Every transition takes an instance as it is, and returns it as it is then with what
// happened, in order; or unchanged with the reason why it cannot be made.

// Lock gives a coupon to an order until a deadline. From then on its validity is not
// asked for. A lock whose deadline has passed lapses and is taken over, whoever has it.
func (c Instance) Lock(orderID string, until, now time.Time) (Instance, []Happened, Refusal) {
	lapsed := c.State == StateLocked && !c.LockHolds(now)
	switch {
	case c.OrderID == orderID && (c.State == StateRedeemed || c.LockHolds(now)):
		return c, nil, RefusedDone
	case c.State != StateIssued && !lapsed:
		return c, nil, refusalOf(c.State)
	case !c.Started(now):
		return c, nil, RefusedNotStarted
	case c.Ended(now):
		return c, nil, RefusedExpired
	}
	return c.owned(StateLocked, EventLock, orderID, until, now)
}

// Redeem uses a coupon for an order. Neither its lock's deadline nor its validity is
// asked for. The order has locked it before, in whatever cycle, or it would not ask: so
// it may use it late, unless somebody else has it.
func (c Instance) Redeem(orderID string, now time.Time) (Instance, []Happened, Refusal) {
	event := EventLateRedeem
	switch {
	case c.State == StateRedeemed && c.OrderID == orderID:
		return c, nil, RefusedDone
	case c.State == StateRedeemed, c.State == StateVoid:
		return c, nil, refusalOf(c.State)
	case c.State == StateLocked && c.OrderID == orderID:
		event = EventRedeem
	case c.LockHolds(now):
		return c, nil, RefusedLocked
	}
	return c.owned(StateRedeemed, event, orderID, time.Time{}, now)
}

// Release lets go of a coupon that an order has locked, whether or not its deadline has
// passed.
func (c Instance) Release(orderID string, now time.Time) (Instance, []Happened, Refusal) {
	switch {
	case c.State == StateLocked && c.OrderID == orderID:
		return c.free(EventRelease, now)
	case c.State == StateRedeemed && c.OrderID == orderID:
		return c, nil, RefusedRedeemed
	}
	return c, nil, RefusedNotHeld
}

// Lapse lets go of a coupon whose lock's deadline has passed.
func (c Instance) Lapse(now time.Time) (Instance, []Happened, Refusal) {
	if c.State != StateLocked || c.LockHolds(now) {
		return c, nil, RefusedNotDue
	}
	return c.free(EventLapse, now)
}

// Expire ends a coupon that nobody has used in its time.
func (c Instance) Expire(now time.Time) (Instance, []Happened, Refusal) {
	if c.State != StateIssued || !c.Ended(now) {
		return c, nil, RefusedNotDue
	}
	return c.over(StateExpired, EventExpire, now)
}

// Void takes back a coupon that no order has and that has not expired.
func (c Instance) Void(now time.Time) (Instance, []Happened, Refusal) {
	if c.State != StateIssued {
		return c, nil, refusalOf(c.State)
	}
	return c.over(StateVoid, EventVoid, now)
}

// Return gives a coupon back to its user whose order was refunded in full, if its terms
// say so. A new cycle begins: it can be used once more, within its time.
func (c Instance) Return(orderID string, now time.Time) (Instance, []Happened, Refusal) {
	switch {
	case c.State != StateRedeemed || c.OrderID != orderID:
		return c, nil, RefusedNotHeld
	case !c.ReturnOnFullRefund:
		return c, nil, RefusedKept
	}
	c.Cycle++
	return c.free(EventReturn, now)
}

// LockHolds says that a coupon is locked and the deadline has not come.
func (c Instance) LockHolds(now time.Time) bool {
	return c.State == StateLocked && now.Before(c.LockedUntil)
}

// owned is a coupon that an order has from now on. Another order's lock, which has
// passed, is over first.
func (c Instance) owned(s State, event Event, orderID string, until, now time.Time) (Instance, []Happened, Refusal) {
	var happened []Happened
	if c.State == StateLocked && event != EventRedeem {
		happened = append(happened, Happened{EventLapse, c.OrderID, c.Cycle})
	}
	c.State, c.OrderID, c.LockedUntil, c.ChangedAt = s, orderID, until, now
	return c, append(happened, Happened{event, orderID, c.Cycle}), ""
}

// free is a coupon that its order has no more: it has expired if its time is over.
func (c Instance) free(event Event, now time.Time) (Instance, []Happened, Refusal) {
	happened := []Happened{{event, c.OrderID, c.Cycle}}
	c.State, c.OrderID, c.LockedUntil, c.ChangedAt = StateIssued, "", time.Time{}, now
	if c.Ended(now) {
		c.State = StateExpired
	}
	return c, happened, ""
}

// over is a coupon that nobody can use, or not in its time.
func (c Instance) over(s State, event Event, now time.Time) (Instance, []Happened, Refusal) {
	c.State, c.ChangedAt = s, now
	return c, []Happened{{event, "", c.Cycle}}, ""
}
