package lifecycle

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/shared/sale"
	"sluice/shared/service"
)

const (
	paymentsEvery   = 500 * time.Millisecond // between scans for events that wait
	paymentsSoon    = 20 * time.Millisecond  // after an event that is not the ordinary one, so that several are scanned together
	paymentsPage    = 500                    // events of one read
	paymentsAtOnce  = 2                      // transactions at a time of those that are not ordinary: they take connections that orders are made with
	paymentsFaults  = 16                     // after which a scan goes on later, where it stopped
	paymentsPages   = 4                      // after which it does, too: events whose order never comes are never fewer
	paymentsOthers  = 64                     // of those that are not ordinary, for the same reason: who was passed over is met again soon
	paymentsYoung   = time.Minute            // of what is looked at though older ones are not done with
	paymentWithin   = 5 * time.Second        // of one transaction
	latePlaces      = 8                      // orders that expired in each other's place: each had its own time to pay
	openCountsEvery = time.Second
)

// Failpoints of payments.
const (
	PaymentStored  = "worker.payment_stored"  // the event is a row, and not applied
	LateReserved   = "worker.late_reserved"   // Redis has a unit for a late payment, Postgres no order
	PaymentApplied = "worker.payment_applied" // committed, the ticket not settled or released
)

// LateUnit is what Redis said to the attempt of a late payment.
type LateUnit struct {
	Of          string // the expired order that the attempt was made for
	Epoch       int64
	Reservation sale.Reservation
	Refused     sale.OwedReason // why there is none; else ""
}

// AppliedPayment is what one try to apply an event did, or what is to be done first.
type AppliedPayment struct {
	sale.PaymentDecision
	Payment sale.Payment
	Order   *sale.Order // that it acts on, as it was before; nil when there is none
	Epoch   int64       // of the order's sale
	Passed  bool        // nothing was done: it was applied before, or another has it in hand
}

// paymentRows are the events and what they change.
type paymentRows interface {
	// UnappliedPayments looks at limit events behind after, oldest first, and returns
	// those that may be applied; next is where to go on, zero behind the last. One that has
	// nothing but a time when it was received stands before those that came since.
	UnappliedPayments(ctx context.Context, after sale.Payment, limit int) (known []sale.Payment, next sale.Payment, err error)
	// PayPending applies those of the events that pay for pending orders: nearly all.
	PayPending(ctx context.Context, eventIDs []string) (paid []string, err error)
	// ApplyPayment applies a stored event, once, or says what it needs.
	ApplyPayment(ctx context.Context, eventID string, late *LateUnit) (AppliedPayment, error)
	// OrderLate makes orders of reservations that late payments took.
	OrderLate(ctx context.Context, h sale.HandOver) error
	PaymentsOpen(ctx context.Context) (sale.OpenPayments, error)
}

// lateStock takes a unit for a payment that came too late.
type lateStock interface {
	ReserveLate(ctx context.Context, saleID string, epoch int64, attempt sale.Attempt) (sale.Snapshot, sale.Decision, error)
}

// Payments applies payment events to orders. Any number of workers may: an event is
// a row that one of them has in hand at a time.
//
// Two scans look for what waits, and neither waits for the other: one applies payments of
// pending orders alone, which came before their orders, many in a transaction. The other
// applies all others, one by one; a flood of late payments takes it long.
type Payments struct {
	rows    paymentRows
	stock   lateStock
	show    func() // has paid orders shown at once; they would be in any case
	release func() // has releases applied at once; they would be in any case
	hit     func(failpoint string) error
	metrics *PaymentMetrics
	log     *slog.Logger

	ordinary, others *scan
	counted          time.Time
	faults           service.Quiet
}

// NewPayments builds the loops that apply what waits.
func NewPayments(rows paymentRows, stock lateStock, show, release func(), hit func(failpoint string) error, m *PaymentMetrics, log *slog.Logger) *Payments {
	p := &Payments{rows: rows, stock: stock, show: show, release: release, hit: hit, metrics: m, log: log}
	p.ordinary = &scan{rows: rows, apply: p.payAll, most: paymentsPages * paymentsPage}
	p.others = &scan{rows: rows, apply: p.applyAll, most: paymentsOthers, soon: make(chan struct{}, 1), pause: paymentsSoon}
	return p
}

// Run applies what waits, until ctx ends: events that came before their orders,
// whose worker died, or which wait for a release or for Redis.
func (p *Payments) Run(ctx context.Context) {
	var scans sync.WaitGroup
	defer scans.Wait()
	scans.Go(func() {
		p.repeat(ctx, p.ordinary, func() error {
			if err := p.count(ctx); err != nil {
				return err
			}
			return p.ordinary.once(ctx)
		})
	})
	p.repeat(ctx, p.others, func() error { return p.others.once(ctx) })
}

// count exports what is open, whether or not this worker has anything to do with it.
func (p *Payments) count(ctx context.Context) error {
	if time.Since(p.counted) < openCountsEvery {
		return nil
	}
	read, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	open, err := p.rows.PaymentsOpen(read)
	if err != nil {
		return err
	}
	p.metrics.owed.Set(float64(open.RefundsOwed))
	p.metrics.wrong.Set(float64(open.WrongAmounts))
	p.metrics.waiting.Set(float64(open.Waiting))
	p.counted = time.Now()
	return nil
}

// applyNow applies what is ordinary, payments of pending orders, in one transaction,
// and leaves the rest to the scan: late ones must not keep others, or those would be
// late too.
func (p *Payments) applyNow(ctx context.Context, eventIDs []string) error {
	rest, err := p.payPending(ctx, eventIDs)
	if len(rest) > 0 {
		p.others.poke()
	}
	return err
}

// payAll applies what is ordinary, and nothing else.
func (p *Payments) payAll(ctx context.Context, eventIDs []string) (waits bool, faults []error) {
	if _, err := p.payPending(ctx, eventIDs); err != nil {
		faults = append(faults, err)
	}
	return false, faults
}

// payPending returns the events that were not ordinary.
func (p *Payments) payPending(ctx context.Context, eventIDs []string) (rest []string, err error) {
	if len(eventIDs) == 0 {
		return nil, nil
	}
	call, cancel := context.WithTimeout(ctx, paymentWithin)
	defer cancel()
	paid, err := p.rows.PayPending(call, eventIDs)
	if err != nil || len(paid) == 0 {
		return eventIDs, err
	}
	p.metrics.applied.WithLabelValues(string(sale.PaymentPaid)).Add(float64(len(paid)))
	rest = slices.DeleteFunc(slices.Clone(eventIDs), func(id string) bool { return slices.Contains(paid, id) })
	return rest, p.hand(sale.PaymentPaid)
}

// tried is an event that is being applied, one that is not ordinary.
type tried struct {
	eventID string
	applied AppliedPayment
	late    *LateUnit // for it, when it needs one
	err     error
}

// applyAll applies events: what is ordinary at once, the others a few at a time, in any order:
// several workers that took them in the same order would do each of them together. The orders
// of many late payments are made together, so that the sale's stock is locked once for them. It
// returns the faults, and whether some wait for a release.
func (p *Payments) applyAll(ctx context.Context, eventIDs []string) (waits bool, faults []error) {
	eventIDs, err := p.payPending(ctx, eventIDs)
	if err != nil {
		return false, []error{err}
	}
	all := make([]*tried, len(eventIDs))
	for i, id := range eventIDs {
		all[i] = &tried{eventID: id}
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	someAtOnce(all, func(t *tried) { p.begin(ctx, t) })
	p.orderLate(ctx, all)
	someAtOnce(all, func(t *tried) { p.finish(ctx, t) })
	for _, t := range all {
		waits = waits || t.applied.NeedsRelease
		if t.err != nil {
			faults = append(faults, t.err)
		}
	}
	if waits {
		p.release()
		p.others.poke()
	}
	return waits, faults
}

func someAtOnce(all []*tried, do func(t *tried)) {
	var group errgroup.Group
	group.SetLimit(paymentsAtOnce)
	for _, t := range all {
		group.Go(func() error { do(t); return nil })
	}
	_ = group.Wait() // each has its own fault
}

// begin applies an event, unless it needs a unit: that is taken in Redis first, then the order
// in Postgres. A worker that dies in between leaves a reservation like any other, which the
// next try finds by its rid, or a sweeper hands over.
func (p *Payments) begin(ctx context.Context, t *tried) {
	p.ask(ctx, t)
	if t.err == nil && !t.applied.NeedsUnit {
		t.err = p.conclude(t.applied)
	}
}

// ask has Postgres apply an event, or say what it needs, and takes a unit if it is that.
func (p *Payments) ask(ctx context.Context, t *tried) {
	call, cancel := context.WithTimeout(ctx, paymentWithin)
	defer cancel()
	if t.applied, t.err = p.rows.ApplyPayment(call, t.eventID, t.late); t.err == nil && t.applied.NeedsUnit {
		t.late, t.err = p.reserve(ctx, t.applied)
	}
}

// finish goes on with an event for which a unit was taken, or none was left.
func (p *Payments) finish(ctx context.Context, t *tried) {
	if t.err != nil || !t.applied.NeedsUnit {
		return
	}
	for range latePlaces {
		if p.ask(ctx, t); t.err != nil {
			return
		}
		if !t.applied.NeedsUnit {
			t.err = p.conclude(t.applied)
			return
		}
	}
}

// conclude tells what became of an event, unless that is nothing.
func (p *Payments) conclude(a AppliedPayment) error {
	if a.Passed || a.Result == sale.PaymentWaits {
		return nil
	}
	p.tell(a)
	return p.hand(a.Result)
}

// orderLate makes the orders of several late payments in one transaction a sale, as those of
// any reservations. Each payment finds its order then; without, it makes its own.
func (p *Payments) orderLate(ctx context.Context, all []*tried) {
	type lot struct {
		saleID, currency string
		epoch, price     int64
	}
	lots := make(map[lot][]sale.Reservation)
	for _, t := range all {
		if t.err == nil && t.applied.NeedsUnit && t.late.Refused == "" {
			o := t.applied.Order
			l := lot{o.SaleID, o.Currency, t.late.Epoch, o.AmountMinor}
			lots[l] = append(lots[l], t.late.Reservation)
		}
	}
	for l, reservations := range lots {
		if len(reservations) == 1 {
			continue
		}
		call, cancel := context.WithTimeout(ctx, paymentWithin)
		err := p.rows.OrderLate(call, sale.HandOver{SaleID: l.saleID, Epoch: l.epoch, PriceMinor: l.price, Currency: l.currency, Reservations: reservations})
		cancel()
		if err != nil && p.faults.Allow() {
			p.log.Warn("orders of late payments are made one by one", "sale", l.saleID, "orders", len(reservations), "error", err)
		}
	}
}

// hand has the tickets follow.
func (p *Payments) hand(result sale.PaymentResult) error {
	if err := p.hit(PaymentApplied); err != nil {
		return err
	}
	switch result {
	case sale.PaymentPaid, sale.PaymentReplaced:
		p.show()
	case sale.PaymentRefunded:
		p.release()
	default: // no ticket changes
	}
	return nil
}

// reserve takes a unit for the buyer of an expired order, under a rid of the order's.
func (p *Payments) reserve(ctx context.Context, a AppliedPayment) (*LateUnit, error) {
	call, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	attempt := sale.LateAttempt(*a.Order)
	_, d, err := p.stock.ReserveLate(call, a.Order.SaleID, a.Epoch, attempt)
	if err != nil {
		return nil, fmt.Errorf("cannot reserve for the late payment of order %s: %w", a.Order.RID, err)
	}
	unit := &LateUnit{Of: a.Order.RID, Epoch: a.Epoch}
	switch {
	case d.Code == sale.DecidedAccepted && !d.Ticket.Status.Closed():
		unit.Reservation = d.Ticket.Reservation
		return unit, p.hit(LateReserved)
	case d.Code == sale.DecidedAccepted || d.Code == sale.DecidedSoldOut:
		unit.Refused = sale.OwedNoUnit
	default:
		unit.Refused = sale.OwedNoSlot
	}
	return unit, nil
}

// Repeated counts an event that the stream has stored before, and alerts if it says
// something else now.
func (p *Payments) Repeated(first, again sale.PaymentEvent) {
	known := ReceivedBefore
	if first != again {
		known = ReceivedOtherwise
	}
	p.received(known, again)
}

// received counts an event, by what was known of it.
func (p *Payments) received(known string, e sale.PaymentEvent) {
	p.metrics.received.WithLabelValues(known).Inc()
	if known == ReceivedOtherwise {
		p.log.Error("payment event repeated with another content", "event", e.EventID, "order", e.OrderID)
	}
}

// tell counts a result, and alerts where somebody has to do something about it.
func (p *Payments) tell(a AppliedPayment) {
	p.metrics.applied.WithLabelValues(string(a.Result)).Inc()
	log := p.log.With("event", a.Payment.EventID, "order", a.Payment.OrderID, "amount", a.Payment.AmountMinor, "currency", a.Payment.Currency)
	switch a.Result {
	case sale.PaymentOwed:
		log.Error("refund owed", "reason", a.Reason)
	case sale.PaymentWrongAmount:
		log.Error("payment not of the order's amount", "type", a.Payment.Type)
	case sale.PaymentNotPaid:
		log.Error("refund of an order that is not paid")
	case sale.PaymentReplaced:
		log.Info("late payment replaces the order", "expired", a.Order.RID)
	default:
	}
}

// pauseFor waits, unless ctx ends first.
func pauseFor(ctx context.Context, pause time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pause):
		return nil
	}
}
