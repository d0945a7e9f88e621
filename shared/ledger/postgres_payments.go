package ledger

import (
	"maps"
	"slices"

	"sluice/shared/sale"
)

type payment struct {
	sale.PaymentEvent
	result sale.PaymentResult
}

type owed struct {
	event, order string
	reason       sale.OwedReason
	settled      bool
}

// StorePayment implements Truth.
func (p *Postgres) StorePayment(e sale.PaymentEvent) {
	if _, there := p.payments[e.EventID]; !there {
		p.payments[e.EventID] = payment{PaymentEvent: e}
	}
}

// KnownPayments implements Truth.
func (p *Postgres) KnownPayments() (known []string) {
	for _, id := range slices.Sorted(maps.Keys(p.payments)) {
		e := p.payments[id]
		if _, there := p.orders[e.OrderID]; there && e.result == sale.PaymentWaits {
			known = append(known, id)
		}
	}
	return known
}

func (p *Postgres) paymentWaits(rid string) bool {
	for _, e := range p.payments {
		if rid != "" && e.OrderID == rid && e.result == sale.PaymentWaits && e.Type == sale.PaymentSucceeded {
			return true
		}
	}
	return false
}

// ApplyPayment implements Truth.
func (p *Postgres) ApplyPayment(eventID string, late *LateUnit) Applied {
	e := p.payments[eventID]
	hasUnit := late != nil && late.Refused == ""
	if e.result != sale.PaymentWaits {
		if hasUnit && !p.giveUp(late) {
			return Applied{Stale: true}
		}
		return Applied{Passed: true}
	}
	if p.off[LateTakesUnit] && p.orders[e.OrderID].state == sale.OrderExpired && e.Type == sale.PaymentSucceeded {
		return p.revive(e)
	}
	chain := p.chain(e.OrderID)
	facts := p.facts(e.PaymentEvent, chain, late)
	done := Applied{PaymentDecision: e.Decide(facts), Epoch: p.entry.Epoch}
	if facts.Order != nil {
		done.OrderID, done.UserID = facts.Order.RID, facts.Order.UserID
	}
	if done.NeedsUnit && hasUnit && late.Of == done.OrderID {
		if late.Epoch != p.entry.Epoch {
			return Applied{Stale: true}
		}
		p.name(chain)
		if !p.orderLate(&done, late) {
			return p.ApplyPayment(eventID, late) // the chain has one more
		}
	} else {
		p.name(chain)
	}
	p.write(e, chain, &done)
	return done
}

// chain is the order that an event names, and those that took its place, up to the one
// that the event acts on.
func (p *Postgres) chain(id string) (chain []string) {
	chain = []string{id}
	for p.orders[id].state == sale.OrderExpired {
		id = sale.LateRID(id)
		if _, there := p.orders[id]; !there {
			break
		}
		chain = append(chain, id)
	}
	return chain
}

// name notes whose place each of a chain takes.
func (p *Postgres) name(chain []string) {
	for i, rid := range chain[1:] {
		if o := p.orders[rid]; o.replaces == "" && o.state != sale.OrderRejected {
			o.replaces = chain[i]
			p.orders[rid] = o
		}
	}
}

func (p *Postgres) facts(e sale.PaymentEvent, chain []string, late *LateUnit) (f sale.PaymentFacts) {
	last := chain[len(chain)-1]
	f.Rebuilding = p.entry.Rebuilding
	if o, there := p.orders[last]; there {
		f.Order = &sale.Order{Reservation: o.Reservation, State: o.state, AmountMinor: price, Currency: currency, Replaces: o.replaces}
		f.Released = p.releases[last].applied
	}
	related := slices.Clone(chain)
	if r := p.orders[last].replaces; r != "" {
		related = append(related, r)
	}
	for _, w := range p.owed {
		f.RefundOwed = f.RefundOwed || !w.settled && slices.Contains(related, w.order)
	}
	for _, other := range p.payments {
		if other.Type == sale.PaymentSucceeded && slices.Contains(related, other.OrderID) {
			f.SuccessWaiting = f.SuccessWaiting || other.result == sale.PaymentWaits
			f.SuccessApplied = f.SuccessApplied || other.result != sale.PaymentWaits
		}
	}
	if late != nil && f.Order != nil && late.Of == last && late.Epoch == p.entry.Epoch {
		f.Refused = late.Refused
	}
	if e.Type == sale.PaymentSucceeded && p.off[PaidOrderIsLeft] && f.Order != nil && f.Order.State == sale.OrderPaid {
		f.Order.State = sale.OrderPending
	}
	return f
}

// orderLate makes the order of the reservation that a late payment took; false when it
// was ordered before and has moved on.
func (p *Postgres) orderLate(done *Applied, late *LateUnit) bool {
	v := p.decide(late.Reservation)
	p.releaseSuperseded(late.Epoch, v.RID)
	switch {
	case v.State == sale.OrderPending:
		done.Result = sale.PaymentReplaced
		o := p.orders[v.RID]
		o.replaces = late.Of
		p.orders[v.RID] = o
	case v.Reason == sale.ReasonDuplicate:
		done.Result, done.Reason = sale.PaymentOwed, sale.OwedNoSlot
	case v.State == sale.OrderRejected:
		done.Result, done.Reason = sale.PaymentOwed, sale.OwedNoUnit
	default:
		return false
	}
	done.NeedsUnit, done.OrderID = false, v.RID
	return true
}

func (p *Postgres) write(e payment, chain []string, done *Applied) {
	switch done.Result {
	case sale.PaymentWaits:
		return
	case sale.PaymentPaid:
		if done.OrderID != e.OrderID {
			done.Result = sale.PaymentReplaced
		}
		p.pay(done.OrderID)
	case sale.PaymentReplaced:
		p.pay(done.OrderID)
	case sale.PaymentOwed:
		p.owed = append(p.owed, owed{event: e.EventID, order: e.OrderID, reason: done.Reason})
	case sale.PaymentSettled:
		p.settle(chain)
	case sale.PaymentRefunded:
		p.refund(done.OrderID, e.Restock)
	case sale.PaymentNoted, sale.PaymentWrongAmount, sale.PaymentNotPaid:
	}
	e.result = done.Result
	p.payments[e.EventID] = e
}

func (p *Postgres) pay(rid string) {
	o := p.orders[rid]
	o.state = sale.OrderPaid
	p.orders[rid] = o
}

// settle settles the oldest refund that a chain is owed.
func (p *Postgres) settle(chain []string) {
	related := slices.Clone(chain)
	if r := p.orders[chain[len(chain)-1]].replaces; r != "" {
		related = append(related, r)
	}
	for i, w := range p.owed {
		if !w.settled && slices.Contains(related, w.order) {
			p.owed[i].settled = true
			return
		}
	}
}

// refund closes a paid order. A unit that does not come back stays held.
func (p *Postgres) refund(rid string, restock bool) {
	o := p.orders[rid]
	o.state, o.shown, o.holdsUnit, o.holdsSlot = sale.OrderRefunded, sale.OrderRefunded, !restock, !p.rules.RebuyAfterRelease
	p.orders[rid] = o
	r := sale.Release{RID: rid, Status: sale.StatusRefunded}
	if restock {
		r.Give = 1
		p.held--
	}
	p.close(r)
}

// giveUp closes the order of a unit that nobody pays for any more as it is made; false
// when its epoch is over.
func (p *Postgres) giveUp(late *LateUnit) bool {
	if late.Epoch != p.entry.Epoch {
		return false
	}
	if _, known := p.stored(late.Reservation.RID); known {
		p.releaseSuperseded(late.Epoch, late.Reservation.RID)
		return true
	}
	if p.decide(late.Reservation).State == sale.OrderPending {
		p.letGo(late.Reservation.RID, sale.OrderExpired)
	}
	return true
}

// revive is what LateTakesUnit keeps from being.
func (p *Postgres) revive(e payment) Applied {
	o := p.orders[e.OrderID]
	o.state, o.holdsUnit, o.holdsSlot = sale.OrderPaid, true, true
	p.orders[e.OrderID] = o
	p.held = min(p.held+1, p.total)
	e.result = sale.PaymentPaid
	p.payments[e.EventID] = e
	return Applied{}
}
