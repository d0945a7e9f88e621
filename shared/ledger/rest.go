package ledger

import "sluice/shared/sale"

// settleDown has everybody do what they do by themselves, until nothing moves any more,
// and checks what is so of a sale at rest.
func (w *World) settleDown() error {
	w.note("settle down")
	w.settling = true
	left := ""
	for range 30 {
		w.finishTasks()
		if err := w.check(); err != nil {
			return err
		}
		if left = w.unrest(); left == "" {
			return w.checkRest()
		}
		w.goOn()
	}
	return violated("I9", "the sale does not come to rest: %s", left)
}

// goOn starts everything that goes on by itself.
func (w *World) goOn() {
	w.announce(w.truth.Entry())
	w.notice()
	w.sweep()
	for i, m := range w.stream {
		if !m.acknowledged {
			w.deliver(i + 1)
		}
	}
	w.release()
	w.show()
	w.adjustLeft()
	for _, id := range w.truth.KnownPayments() {
		w.pay(id)
	}
}

// notice rebuilds a sale that Redis has lost, and goes on with a rebuild that nobody runs.
func (w *World) notice() {
	e := w.truth.Entry()
	if _, live := w.redis.Epoch(e.Epoch); !live && !e.Rebuilding {
		w.rebuild()
	} else if e.Rebuilding && !w.loading() {
		w.resume()
	}
}

func (w *World) loading() bool {
	for _, t := range w.tasks {
		if t.name == "load" {
			return true
		}
	}
	return false
}

// unrest says what keeps the sale from rest, "" when nothing does.
func (w *World) unrest() string {
	e := w.truth.Entry()
	_, live := w.redis.Epoch(e.Epoch)
	_, unfinished := w.rows.unfinished()
	switch {
	case len(w.tasks) > 0:
		return w.tasks[0].name + " is under way"
	case e != w.announced || e.Rebuilding || !live:
		return "it is not live"
	case len(w.fast.keys[e.Epoch].handoff) > 0:
		return "reservations are listed for hand-over"
	case w.unacknowledged() > 0:
		return "a hand-over is not acknowledged"
	case len(w.rows.UnappliedReleases()) > 0:
		return "a release is not applied"
	case len(w.rows.Unshown()) > 0:
		return "an order is not shown"
	case unfinished != "":
		return unfinished
	}
	return ""
}

func (w *World) unacknowledged() (n int) {
	for _, m := range w.stream {
		if !m.acknowledged {
			n++
		}
	}
	return n
}

// unfinished names an adjustment, or a payment of an order that is known, without an end.
func (p *Postgres) unfinished() (found int, what string) {
	if rows, _ := p.UnfinishedAdjustments(); len(rows) > 0 {
		found, what = len(rows), "an adjustment is not finished"
	}
	for _, id := range p.KnownPayments() {
		if p.payments[id].Type == sale.PaymentSucceeded {
			found, what = found+1, "payment "+id+" is not applied"
		}
	}
	return found, what
}

// checkRest: everybody who was answered has an outcome, and the stores say the same.
func (w *World) checkRest() error {
	k := w.live()
	for rid := range w.told {
		if o, ordered := w.rows.orders[rid]; !ordered || o.state == sale.OrderRejected {
			return violated("I3", "%s was answered with %s, whose order is %q %s", w.userOf(rid), rid, o.state, o.reason)
		}
	}
	if free := w.rows.total - w.rows.held; k.stock != free || k.total != w.rows.total {
		return violated("I4", "at rest stock is %d of %d, free are %d of %d", k.stock, k.total, free, w.rows.total)
	}
	for rid, o := range w.rows.orders {
		if t, there := k.tickets[rid]; there && t.status != shownAs(o.state) {
			return violated("I7", "at rest ticket %s is %s, its order %s", rid, t.status, o.state)
		} else if !there && o.reason != sale.ReasonSuperseded {
			return violated("I3", "order %s has no ticket", rid)
		}
	}
	for at, taken := range k.buyers {
		if o := w.rows.orders[k.slots[at]]; taken && !o.holdsSlot {
			return violated("I2", "at rest slot %d of %s is taken, and no order holds it", at.slot, at.user)
		}
	}
	return nil
}
