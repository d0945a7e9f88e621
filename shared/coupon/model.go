package coupon

import (
	"slices"
	"time"
)

// Model is the reference model of one user's coupons and the orders that use them: what
// each call must decide, said once without a store. The store is driven beside it in
// tests; nothing in production runs it. Every cart has room for all coupons that are
// asked for, and every refund is of the whole order.
type Model struct {
	now     time.Time
	coupons map[string]Instance
	events  map[string][]Happened // by coupon
	orders  map[string]*modelOrder
}

type modelOrder struct {
	state    modelState
	coupons  []string // that it asked for last, ascending
	hold     time.Duration
	until    time.Time
	redeemed Answer  // the first one
	refunded *Answer // nil before
}

type modelState int

const (
	orderLocked modelState = iota
	orderReleased
	orderRedeemed
	orderRefused
)

// Refusals that the model adds: of coupons that are not the user's, and of orders.
const (
	RefusedUnknown       Refusal = "unknown"        // there is no such coupon
	RefusedNoOrder       Refusal = "no_order"       // it has locked nothing
	RefusedOrderLocked   Refusal = "order_locked"   // it has asked for something else
	RefusedOrderRedeemed Refusal = "order_redeemed" // nothing can be released
	RefusedNotRedeemed   Refusal = "not_redeemed"   // there is nothing to refund
)

// Answer is what a call answers. Lists are in ascending order.
type Answer struct {
	Refused  Refusal  // and nothing was changed; "" when it was done
	CouponID string   // that was refused; "" when the order was
	Redeemed []string // coupons that the order has used
	Late     []string // those of them whose lock was gone
	Missing  []string // coupons that somebody else has
	Refund   bool     // for what is missing none was redeemed: the order is to be refunded
	Released []string // the order's coupons, of which it has none any more
	Returned []string // coupons that can be used once more
}

// NewModel is a model of coupons as they are at now.
func NewModel(now time.Time, coupons ...Instance) *Model {
	m := &Model{now: now, coupons: map[string]Instance{}, events: map[string][]Happened{}, orders: map[string]*modelOrder{}}
	for _, c := range coupons {
		m.coupons[c.ID] = c
	}
	return m
}

// Coupon is a coupon as it is, and what happened to it.
func (m *Model) Coupon(id string) (Instance, []Happened) { return m.coupons[id], m.events[id] }

// Pass lets time go by.
func (m *Model) Pass(d time.Duration) { m.now = m.now.Add(d) }

// Jobs does what is due: locks lapse and coupons expire.
func (m *Model) Jobs() {
	for id := range m.coupons {
		m.move(id, func(c Instance) (Instance, []Happened, Refusal) { return c.Lapse(m.now) })
		m.move(id, func(c Instance) (Instance, []Happened, Refusal) { return c.Expire(m.now) })
	}
}

// Void takes back a coupon.
func (m *Model) Void(id string) Answer {
	if _, known := m.coupons[id]; !known {
		return Answer{Refused: RefusedUnknown, CouponID: id}
	}
	if _, refused := m.move(id, func(c Instance) (Instance, []Happened, Refusal) { return c.Void(m.now) }); refused != "" {
		return Answer{Refused: refused, CouponID: id}
	}
	return Answer{}
}

// Lock locks all coupons for an order, or none.
func (m *Model) Lock(orderID string, hold time.Duration, ids ...string) Answer {
	ids = slices.Sorted(slices.Values(ids))
	o := m.orders[orderID]
	if o != nil && o.holds(m.now) {
		if o.state != orderRefused && o.hold == hold && slices.Equal(o.coupons, ids) {
			return Answer{}
		}
		return Answer{Refused: RefusedOrderLocked}
	}
	until := m.now.Add(hold)
	lock := func(c Instance) (Instance, []Happened, Refusal) { return c.Lock(orderID, until, m.now) }
	for _, id := range ids {
		c, known := m.coupons[id]
		if !known {
			return Answer{Refused: RefusedUnknown, CouponID: id}
		}
		if _, _, refused := lock(c); refused != "" {
			return Answer{Refused: refused, CouponID: id}
		}
	}
	for _, id := range ids {
		m.move(id, lock)
	}
	m.orders[orderID] = &modelOrder{coupons: ids, hold: hold, until: until}
	return Answer{}
}

// Redeem uses the coupons that an order has locked.
func (m *Model) Redeem(orderID string) Answer {
	o := m.orders[orderID]
	switch {
	case o == nil:
		return Answer{Refused: RefusedNoOrder}
	case o.state == orderRedeemed, o.state == orderRefused:
		return o.redeemed
	}
	redeem := func(c Instance) (Instance, []Happened, Refusal) { return c.Redeem(orderID, m.now) }
	for _, id := range o.coupons {
		c := m.coupons[id]
		if _, _, refused := redeem(c); refused != "" {
			o.redeemed.Missing = append(o.redeemed.Missing, id)
			o.redeemed.Refund = o.redeemed.Refund || c.IfGone == GoneRefund
		}
	}
	if o.redeemed.Refund {
		o.state = orderRefused
		m.letGo(orderID, o.coupons)
		return o.redeemed
	}
	o.state = orderRedeemed
	for _, id := range o.coupons {
		happened, refused := m.move(id, redeem)
		if refused != "" {
			continue
		}
		o.redeemed.Redeemed = append(o.redeemed.Redeemed, id)
		if happened[len(happened)-1].Event == EventLateRedeem {
			o.redeemed.Late = append(o.redeemed.Late, id)
		}
	}
	return o.redeemed
}

// Release lets go of the coupons that an order has locked.
func (m *Model) Release(orderID string) Answer {
	o := m.orders[orderID]
	switch {
	case o == nil:
		return Answer{Refused: RefusedNoOrder}
	case o.state == orderRedeemed:
		return Answer{Refused: RefusedOrderRedeemed}
	case o.state == orderLocked:
		o.state = orderReleased
		m.letGo(orderID, o.coupons)
	}
	return Answer{Released: o.coupons}
}

// Refund takes back the whole order, under one refund id.
func (m *Model) Refund(orderID string) Answer {
	o := m.orders[orderID]
	switch {
	case o == nil:
		return Answer{Refused: RefusedNoOrder}
	case o.state != orderRedeemed:
		return Answer{Refused: RefusedNotRedeemed}
	case o.refunded != nil:
		return *o.refunded
	}
	o.refunded = &Answer{}
	for _, id := range o.redeemed.Redeemed {
		_, refused := m.move(id, func(c Instance) (Instance, []Happened, Refusal) { return c.Return(orderID, m.now) })
		if refused == "" {
			o.refunded.Returned = append(o.refunded.Returned, id)
		}
	}
	return *o.refunded
}

func (m *Model) letGo(orderID string, ids []string) {
	for _, id := range ids {
		m.move(id, func(c Instance) (Instance, []Happened, Refusal) { return c.Release(orderID, m.now) })
	}
}

// move makes a transition, if it can be made.
func (m *Model) move(id string, transition func(Instance) (Instance, []Happened, Refusal)) ([]Happened, Refusal) {
	c, happened, refused := transition(m.coupons[id])
	m.coupons[id], m.events[id] = c, append(m.events[id], happened...)
	return happened, refused
}

// holds says that the order cannot ask for anything else: it is decided, or its locks
// have not lapsed.
func (o *modelOrder) holds(now time.Time) bool {
	switch o.state {
	case orderLocked:
		return now.Before(o.until)
	case orderReleased:
		return false
	case orderRedeemed, orderRefused:
	}
	return true
}
