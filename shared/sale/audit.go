package sale

import (
	"fmt"
	"maps"
	"slices"
)

// MaxNamed bounds how many violations of one kind an audit spells out; the rest
// is counted, so that a broken sale still has a report that can be read.
const MaxNamed = 20

// Audit holds the evidence against the invariants. Each is checked by itself: a
// violation of one never hides another.
func Audit(e Evidence) Verdict {
	a := newAudit(e)
	a.neverOversold()
	a.oneHolderASlot()
	a.oneOutcomeEach()
	a.unitsAddUp()
	a.givenBackOnce()
	a.ordersTrace()
	a.statusesForward()
	a.configuredAlike()
	a.undersellWhenInDoubt()
	a.paymentsCountOnce()
	a.couponsAddUp()
	violations := a.violations()
	return Verdict{Pass: len(violations) == 0, AtRest: a.atRest, Violations: violations}
}

// audit is the evidence, indexed, and what was found so far.
type audit struct {
	Evidence
	orders   map[string][]Order // by rid; more than one is itself a violation
	tickets  map[string]Ticket
	handed   map[string]bool
	rowless  map[string]bool // rids that may have no order row
	inFlight []string        // sorted rids that Redis or the stream knows and Postgres does not
	atRest   bool
	final    bool // what is unfinished is a violation
	found    map[string][]string
	unnamed  map[string]int // violations that were counted and not spelled out
}

func newAudit(e Evidence) *audit {
	a := &audit{
		Evidence: e,
		orders:   make(map[string][]Order, len(e.Orders)),
		tickets:  make(map[string]Ticket, len(e.Redis.Tickets)),
		handed:   make(map[string]bool, len(e.HandedOver)),
		rowless:  make(map[string]bool, len(e.Rowless)),
		found:    make(map[string][]string),
		unnamed:  make(map[string]int),
	}
	for _, o := range e.Orders {
		a.orders[o.RID] = append(a.orders[o.RID], o)
	}
	for _, t := range e.Redis.Tickets {
		a.tickets[t.RID] = t
	}
	for _, rid := range e.HandedOver {
		a.handed[rid] = true
	}
	for _, rid := range e.Rowless {
		a.rowless[rid] = true
	}
	a.inFlight = a.withoutOrder()
	a.atRest = e.Still && a.nothingUnderWay()
	a.final = a.atRest || e.Waited
	return a
}

// withoutOrder lists the reservations that have no order row yet.
func (a *audit) withoutOrder() []string {
	rids := make(map[string]bool)
	for rid, t := range a.tickets {
		if len(a.orders[rid]) == 0 && !t.Status.Closed() {
			rids[rid] = true
		}
	}
	for rid := range a.handed {
		if len(a.orders[rid]) == 0 && !a.tickets[rid].Status.Closed() {
			rids[rid] = true
		}
	}
	return slices.Sorted(maps.Keys(rids))
}

func (a *audit) nothingUnderWay() bool {
	if a.Redis.HandOff > 0 || a.Unapplied > 0 || a.Adjusting() > 0 || len(a.inFlight) > 0 || len(a.Redis.Differs) > 0 || a.Coupons.Broken(CouponLapses) > 0 {
		return false
	}
	queued := func(t Ticket) bool { return t.Status == StatusQueued }
	unshown := func(o Order) bool { return o.ShownState != o.State && !o.State.TicketStatus().Closed() }
	unapplied := func(p Payment) bool {
		return p.Type == PaymentSucceeded && p.Result == PaymentWaits && len(a.orders[p.OrderID]) > 0
	}
	return !slices.ContainsFunc(a.Redis.Tickets, queued) &&
		!slices.ContainsFunc(a.Orders, unshown) &&
		!slices.ContainsFunc(a.Payments, unapplied)
}

func (a *audit) violate(invariant, format string, args ...any) {
	a.found[invariant] = append(a.found[invariant], fmt.Sprintf(format, args...))
}

// violations lists what was found by invariant, each kind cut at MaxNamed.
func (a *audit) violations() []Violation {
	list := []Violation{}
	for _, invariant := range slices.Sorted(maps.Keys(a.found)) {
		details := a.found[invariant]
		named := min(len(details), MaxNamed)
		for _, detail := range details[:named] {
			list = append(list, Violation{Invariant: invariant, Detail: detail})
		}
		if more := len(details) - named + a.unnamed[invariant]; more > 0 {
			list = append(list, Violation{Invariant: invariant, Detail: fmt.Sprintf("and %d more like these", more)})
		}
	}
	return list
}

// holding counts the orders that hold a unit.
func (a *audit) holding() int64 {
	var n int64
	for _, o := range a.Orders {
		if o.HoldsUnit {
			n++
		}
	}
	return n
}
