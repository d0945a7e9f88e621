package sale

import (
	"fmt"
	"maps"
	"slices"
)

// paymentsCountOnce is I3 for payments: each has one effect, each paid order one
// payment of its amount, and what takes an expired order's place is of the same buyer, one.
// An order and those that took its place are one matter.
func (a *audit) paymentsCountOnce() {
	a.replacementsFit()
	a.amountsFit()
	payments := make(map[string]Payment, len(a.Payments))
	matters := make(map[string]*matter)
	of := func(rid string) *matter {
		first := a.firstOf(rid)
		if matters[first] == nil {
			matters[first] = &matter{toSettle: make(map[money]int)}
		}
		return matters[first]
	}
	for _, o := range a.Orders {
		if a.PriceMinor > 0 { // what is free is paid without a payment
			of(o.RID).count(o)
		}
	}
	for _, p := range a.Payments {
		payments[p.EventID] = p
		of(p.OrderID).results(p)
		a.paymentFits(p)
		if a.final && p.Type == PaymentSucceeded && p.Result == PaymentWaits && len(a.orders[p.OrderID]) > 0 {
			a.violate("I3", "payment event %s of order %s is not applied", p.EventID, p.OrderID)
		}
	}
	for _, w := range a.RefundsOwed {
		of(w.OrderID).debt(w)
		a.debtFits(w, payments[w.EventID])
	}
	for _, first := range slices.Sorted(maps.Keys(matters)) {
		a.matterFits(first, *matters[first])
	}
}

// matter counts what there is of one order and those that took its place.
type matter struct {
	orders, paid, refunded           int // all; in state paid or refunded; refunded
	payments, owed, settled, refunds int // events by result
	debts, debtsSettled              int // refunds owed; those of them that are settled

	toSettle map[money]int // settled refunds owed less events that settled one, by amount
}

// money is an amount in minor units of a currency.
type money struct {
	amountMinor int64
	currency    string
}

func (m money) String() string { return fmt.Sprintf("%d %s", m.amountMinor, m.currency) }

func (o Order) money() money        { return money{o.AmountMinor, o.Currency} }
func (e PaymentEvent) money() money { return money{e.AmountMinor, e.Currency} }
func (w RefundOwed) money() money   { return money{w.AmountMinor, w.Currency} }

func (m *matter) count(o Order) {
	m.orders++
	if o.State == OrderPaid || o.State == OrderRefunded {
		m.paid++
	}
	if o.State == OrderRefunded {
		m.refunded++
	}
}

func (m *matter) results(p Payment) {
	switch p.Result {
	case PaymentPaid, PaymentReplaced:
		m.payments++
	case PaymentOwed:
		m.owed++
	case PaymentSettled:
		m.settled++
		m.toSettle[p.money()]--
	case PaymentRefunded:
		m.refunds++
	case PaymentWaits, PaymentNoted, PaymentWrongAmount, PaymentNotPaid:
	}
}

func (m *matter) debt(w RefundOwed) {
	m.debts++
	if !w.SettledAt.IsZero() {
		m.debtsSettled++
		m.toSettle[w.money()]++
	}
}

func (a *audit) matterFits(first string, m matter) {
	switch {
	case m.paid > 1:
		a.violate("I3", "order %s and what took its place: %d are paid", first, m.paid)
	case m.orders > 0 && m.paid != m.payments:
		a.violate("I3", "order %s and what took its place: %d are paid, by %d payments", first, m.paid, m.payments)
	case m.orders > 0 && m.refunded != m.refunds:
		a.violate("I3", "order %s and what took its place: %d are refunded, by %d refunds", first, m.refunded, m.refunds)
	}
	if m.owed != m.debts || m.settled != m.debtsSettled {
		a.violate("I3", "order %s: %d payments are owed and %d of them settled, refunds owed are %d and %d",
			first, m.owed, m.settled, m.debts, m.debtsSettled)
	} else if slices.ContainsFunc(slices.Collect(maps.Values(m.toSettle)), func(n int) bool { return n != 0 }) {
		a.violate("I3", "order %s: the refunds owed that are settled are not of the amounts that settled them", first)
	}
}

// amountsFit holds orders against the price, which is the same for all. One that was
// rejected may have been for what its hand-over said.
func (a *audit) amountsFit() {
	price := money{a.PriceMinor, a.Currency}
	for _, o := range a.Orders {
		if o.State != OrderRejected && o.money() != price {
			a.violate("I3", "order %s is of %v, the price is %v", o.RID, o.money(), price)
		}
	}
}

// paymentFits holds what became of an event against what it reports.
func (a *audit) paymentFits(p Payment) {
	if !p.Type.canEnd(p.Result) {
		a.violate("I3", "payment event %s of order %s is a %s, and its result is %q", p.EventID, p.OrderID, p.Type, p.Result)
	}
	for _, o := range a.orders[p.OrderID] {
		switch p.Result {
		case PaymentPaid, PaymentReplaced, PaymentRefunded:
			if !p.pays(&o) {
				a.violate("I3", "payment event %s of %v is %s, its order %s is of %v", p.EventID, p.money(), p.Result, o.RID, o.money())
			}
		case PaymentWrongAmount:
			if p.pays(&o) {
				a.violate("I3", "payment event %s of %v has a wrong amount by its result, and its order %s is of as much", p.EventID, p.money(), o.RID)
			}
		case PaymentWaits, PaymentOwed, PaymentNoted, PaymentSettled, PaymentNotPaid:
		}
	}
}

// canEnd reports whether an event of type t may have the result r.
func (t PaymentType) canEnd(r PaymentResult) bool {
	switch r {
	case PaymentPaid, PaymentReplaced, PaymentOwed:
		return t == PaymentSucceeded
	case PaymentRefunded, PaymentSettled, PaymentNotPaid:
		return t == RefundSucceeded
	case PaymentNoted:
		return t == PaymentFailed
	case PaymentWrongAmount:
		return t != PaymentFailed
	case PaymentWaits:
	}
	return true
}

// debtFits holds a refund that is owed against the payment that it gives back.
func (a *audit) debtFits(w RefundOwed, p Payment) {
	if w.OrderID != p.OrderID || p.Result != PaymentOwed || w.money() != p.money() {
		a.violate("I3", "the refund owed for payment event %s is %v for order %s, the payment is %v for order %q with result %q",
			w.EventID, w.money(), w.OrderID, p.money(), p.OrderID, p.Result)
	}
	if !a.reasonFits(w) {
		a.violate("I3", "the refund owed for payment event %s of order %s has the reason %s, which its order denies", w.EventID, w.OrderID, w.Reason)
	}
}

// reasonFits looks for the state that gave a refund its reason: at the order that the
// payment names or, of an expired one, at what was reserved in its place.
func (a *audit) reasonFits(w RefundOwed) bool {
	states := make(map[OrderState]bool)
	for rid := w.OrderID; len(a.orders[rid]) > 0; rid = LateRID(rid) {
		states[a.orders[rid][0].State] = true
	}
	switch w.Reason {
	case OwedSecond:
		return states[OrderPaid] || states[OrderRefunded]
	case OwedCancelled:
		return states[OrderCancelled]
	case OwedRefunded:
		return states[OrderRefunded]
	case OwedRejected:
		return states[OrderRejected] || len(states) == 0
	case OwedRetired, OwedNoUnit, OwedNoSlot:
		return states[OrderExpired]
	}
	return false
}

// firstOf is the order that began a matter: the one whose place was taken first.
func (a *audit) firstOf(rid string) string {
	for range len(a.Orders) {
		orders := a.orders[rid]
		if len(orders) == 0 || orders[0].Replaces == "" {
			break
		}
		rid = orders[0].Replaces
	}
	return rid
}

func (a *audit) replacementsFit() {
	for _, o := range a.Orders {
		if o.Replaces == "" {
			continue
		}
		replaced := a.orders[o.Replaces]
		switch {
		case o.RID != LateRID(o.Replaces):
			a.violate("I3", "order %s takes the place of %s under a rid that is not of it", o.RID, o.Replaces)
		case len(replaced) != 1:
			a.violate("I3", "order %s takes the place of %s, which is not there", o.RID, o.Replaces)
		case replaced[0].State != OrderExpired || replaced[0].UserID != o.UserID:
			a.violate("I3", "order %s of user %s takes the place of %s, which is %s and of user %s", o.RID, o.UserID, o.Replaces, replaced[0].State, replaced[0].UserID)
		}
	}
}
