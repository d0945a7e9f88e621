package sale

import (
	"maps"
	"slices"
)

// paymentsCountOnce is I3 for payments: each has one effect, each paid order one
// payment, and what takes an expired order's place is of the same buyer, one.
// An order and those that took its place are one matter.
func (a *audit) paymentsCountOnce() {
	a.replacementsFit()
	matters := make(map[string]*matter)
	of := func(rid string) *matter {
		first := a.firstOf(rid)
		if matters[first] == nil {
			matters[first] = &matter{}
		}
		return matters[first]
	}
	for _, o := range a.Orders {
		if o.AmountMinor > 0 {
			of(o.RID).count(o)
		}
	}
	for _, p := range a.Payments {
		of(p.OrderID).results(p.Result)
		if a.final && p.Type == PaymentSucceeded && p.Result == PaymentWaits && len(a.orders[p.OrderID]) > 0 {
			a.violate("I3", "payment event %s of order %s is not applied", p.EventID, p.OrderID)
		}
	}
	for _, w := range a.RefundsOwed {
		of(w.OrderID).debt(w)
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
}

func (m *matter) count(o Order) {
	m.orders++
	if o.State == OrderPaid || o.State == OrderRefunded {
		m.paid++
	}
	if o.State == OrderRefunded {
		m.refunded++
	}
}

func (m *matter) results(r PaymentResult) {
	switch r {
	case PaymentPaid, PaymentReplaced:
		m.payments++
	case PaymentOwed:
		m.owed++
	case PaymentSettled:
		m.settled++
	case PaymentRefunded:
		m.refunds++
	case PaymentWaits, PaymentNoted, PaymentWrongAmount, PaymentNotPaid:
	}
}

func (m *matter) debt(w RefundOwed) {
	m.debts++
	if !w.SettledAt.IsZero() {
		m.debtsSettled++
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
	}
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
