package ledger

import (
	"fmt"

	"sluice/shared/sale"
)

// Violation is something that must never be.
type Violation struct {
	Invariant string // I1 … I9, or Differs
	Detail    string
}

// Differs is the Invariant of real stores that answer otherwise than the ledger.
const Differs = "differs"

func (v *Violation) Error() string { return v.Invariant + ": " + v.Detail }

func violated(invariant, format string, args ...any) error {
	return &Violation{Invariant: invariant, Detail: fmt.Sprintf(format, args...)}
}

// check holds the world against what is so after every step.
func (w *World) check() error {
	for _, check := range []func() error{w.checkUnits, w.checkSlots, w.checkMoney, w.checkStock, w.checkTickets} {
		if err := check(); err != nil {
			return err
		}
	}
	if w.differs != nil {
		return w.differs()
	}
	return nil
}

// checkUnits: I1, I4, and I6.
func (w *World) checkUnits() error {
	p := w.rows
	var holding int64
	for rid, o := range p.orders {
		if o.holdsUnit {
			holding++
		}
		if _, known := w.seen[rid]; !known {
			return violated("I6", "order %s was never reserved", rid)
		}
	}
	switch {
	case holding > p.total:
		return violated("I1", "%d orders hold one of %d units", holding, p.total)
	case holding != p.held:
		return violated("I4", "%d orders hold a unit, %d units are held", holding, p.held)
	}
	return nil
}

// checkSlots: I2.
func (w *World) checkSlots() error {
	holders := make(map[place]string)
	for rid, o := range w.rows.orders {
		if !o.holdsSlot {
			continue
		}
		at := place{o.UserID, o.Slot}
		if other, taken := holders[at]; taken || o.Slot < 1 || o.Slot > w.rows.rules.PerUserLimit {
			return violated("I2", "orders %s and %s hold slot %d of %s", rid, other, o.Slot, o.UserID)
		}
		holders[at] = rid
	}
	return nil
}

// checkMoney: of every payment that was applied there is an order that was paid by it
// alone, or a refund that is owed.
func (w *World) checkMoney() error {
	owed, paid := make(map[string]bool), make(map[string]int)
	for _, o := range w.rows.owed {
		owed[o.event] = true
	}
	for id, e := range w.rows.payments {
		switch e.result {
		case sale.PaymentOwed:
			if !owed[id] {
				return violated("I3", "payment %s is to be refunded, and no refund is owed", id)
			}
		case sale.PaymentPaid, sale.PaymentReplaced:
			chain := w.rows.chain(e.OrderID)
			paid[chain[len(chain)-1]]++
		default:
		}
	}
	for rid, n := range paid {
		if n > 1 {
			return violated("I3", "order %s was paid %d times", rid, n)
		}
	}
	return nil
}

// checkStock: I8, and I5 by the sum of what went in and out.
func (w *World) checkStock() error {
	k := w.live()
	if k == nil {
		return nil
	}
	var inFlight int64
	for rid, t := range k.tickets {
		if _, decided := w.rows.orders[rid]; !decided && !closed(t.status) {
			inFlight++
		}
	}
	switch free := w.rows.total - w.rows.held; {
	case k.stock > free-inFlight:
		return violated("I8", "stock %d, of %d units free and %d in flight", k.stock, free, inFlight)
	case k.stock != k.total-k.accepted+k.given:
		return violated("I5", "stock %d is not total %d − accepted %d + given %d", k.stock, k.total, k.accepted, k.given)
	case k.stock < 0:
		return violated("I8", "stock %d", k.stock)
	case k.soldOut != (k.stock <= 0):
		return violated("I9", "stock %d, flagged sold out: %t", k.stock, k.soldOut)
	}
	return nil
}

// live are the keys that the gateways' scripts work on, if any.
func (w *World) live() *epochKeys {
	if w.announced.Rebuilding {
		return nil
	}
	if _, live := w.fast.Epoch(w.announced.Epoch); !live {
		return nil
	}
	return w.fast.keys[w.announced.Epoch]
}

// checkTickets: I7. A ticket that is not there at a live epoch answers rejected, as if it
// had never been accepted, which nobody may be told who was answered 202.
func (w *World) checkTickets() error {
	k := w.live()
	if k == nil {
		return nil
	}
	for _, rid := range w.issued {
		t, there := k.tickets[rid]
		if !there && w.told[rid] {
			return violated("I3", "%s was answered with %s, which is not there", w.userOf(rid), rid)
		}
		now, before := t.status, w.seen[rid]
		switch {
		case !there && w.late[rid]:
			continue // its payment reserves again, under the same rid, and nobody was told of it
		case !there:
			now = sale.StatusRejected
		}
		if now != before && !mayFollow(before, now) {
			return violated("I7", "ticket %s was %s and is %s", rid, before, now)
		}
		w.seen[rid] = now
	}
	return nil
}

// mayFollow reports whether a buyer may see next after before. Paid orders are refunded,
// and nothing else.
func mayFollow(before, next sale.Status) bool {
	if before == sale.StatusPaid {
		return next == sale.StatusRefunded
	}
	return further(before, next)
}

func (w *World) userOf(rid string) string {
	for _, call := range w.calls {
		for _, a := range call.attempts {
			if a.RID == rid {
				return a.UserID
			}
		}
	}
	return "a payment"
}
