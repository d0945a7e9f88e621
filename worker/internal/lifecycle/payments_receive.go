package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"sluice/shared/sale"
	"sluice/shared/service"
)

const (
	receiveMost  = 64              // events of one transaction
	receiveWait  = time.Second     // for the first of them
	receiveAgain = time.Second     // after a fault
	readAgain    = time.Minute     // what this worker cannot read: another one may
	storeWithin  = 5 * time.Second // of one transaction
)

// What became of a delivered event; the labels of its counter.
const (
	ReceivedNew        = "new"
	ReceivedBefore     = "before"     // repeated
	ReceivedOtherwise  = "otherwise"  // repeated with another content: the first stays
	ReceivedUnreadable = "unreadable" // not an event
)

// PaymentDelivery is one event from the stream.
type PaymentDelivery struct {
	Event sale.PaymentEvent // zero when Err is set
	Err   error             // this worker cannot decode it
	Seq   uint64
	Reply interface {
		Ack() error
		NakAfter(pause time.Duration) error
	}
}

// PaymentSource delivers events until they are acknowledged.
type PaymentSource interface {
	// Fetch returns as soon as there are some, or after wait.
	Fetch(limit int, wait time.Duration) ([]PaymentDelivery, error)
}

// paymentStore keeps events.
type paymentStore interface {
	// StorePayments says of each event what it did: one of the words above.
	StorePayments(ctx context.Context, events []sale.PaymentEvent) ([]string, error)
}

// Receiver brings payment events from the stream to Postgres, and has them applied
// at once. Any number of workers share the stream.
type Receiver struct {
	open    func(ctx context.Context) (PaymentSource, error)
	store   paymentStore
	apply   *Payments
	hit     func(failpoint string) error
	metrics *PaymentMetrics
	log     *slog.Logger
	faults  service.Quiet
}

// NewReceiver builds the loop. open is called again after every fault.
func NewReceiver(open func(ctx context.Context) (PaymentSource, error), store paymentStore, apply *Payments) *Receiver {
	return &Receiver{open: open, store: store, apply: apply, hit: apply.hit, metrics: apply.metrics, log: apply.log}
}

// Run receives until ctx ends.
func (r *Receiver) Run(ctx context.Context) {
	for ctx.Err() == nil {
		err := r.receive(ctx)
		if ctx.Err() != nil {
			return
		}
		if r.faults.Allow() {
			r.log.Warn("payment events not received", "error", err)
		}
		_ = pauseFor(ctx, receiveAgain) // its error is that ctx has ended
	}
}

// receive works until a fault.
func (r *Receiver) receive(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	source, err := r.open(call)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		deliveries, err := source.Fetch(receiveMost, receiveWait)
		if err != nil {
			return err
		}
		if err := r.keep(ctx, deliveries); err != nil {
			return errors.Join(err, nak(deliveries))
		}
	}
	return ctx.Err()
}

func nak(deliveries []PaymentDelivery) error {
	var faults []error
	for _, d := range deliveries {
		faults = append(faults, d.Reply.NakAfter(receiveAgain))
	}
	return errors.Join(faults...)
}

// keep stores events, acknowledges them, and applies what is ordinary: the rest is for
// the scan, of whichever worker. What it cannot read it gives back: the provider was
// answered for it, and a newer worker wrote it, if anybody did.
func (r *Receiver) keep(ctx context.Context, deliveries []PaymentDelivery) error {
	events := r.readable(deliveries)
	if len(events) > 0 {
		call, cancel := context.WithTimeout(ctx, storeWithin)
		defer cancel()
		stored, err := r.store.StorePayments(call, events)
		if err != nil {
			return err
		}
		if err := r.hit(PaymentStored); err != nil {
			return err
		}
		for i, known := range stored {
			r.apply.received(known, events[i])
		}
	}
	var faults []error
	for _, d := range deliveries {
		if d.Err != nil {
			faults = append(faults, d.Reply.NakAfter(readAgain))
			continue
		}
		faults = append(faults, d.Reply.Ack()) // a lost one means a repetition
	}
	ids := make([]string, len(events))
	for i, e := range events {
		ids[i] = e.EventID
	}
	return errors.Join(append(faults, r.apply.applyNow(ctx, ids))...)
}

// readable are the events among deliveries.
func (r *Receiver) readable(deliveries []PaymentDelivery) []sale.PaymentEvent {
	var events []sale.PaymentEvent
	for _, d := range deliveries {
		if d.Err == nil {
			events = append(events, d.Event)
			continue
		}
		r.metrics.received.WithLabelValues(ReceivedUnreadable).Inc()
		r.log.Error("payment event unreadable", "seq", d.Seq, "error", d.Err)
	}
	return events
}
