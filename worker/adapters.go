package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/shared/evidence"
	"sluice/shared/jetqueue"
	"sluice/shared/pgstore"
	"sluice/shared/retirement"
	"sluice/shared/sale"
	"sluice/worker/internal/fulfil"
	"sluice/worker/internal/lifecycle"
	"sluice/worker/internal/reconcile"
)

// openSource is what fulfil opens the consumer of a sale with.
func openSource(queue *jetqueue.Queue, ackWait time.Duration) func(context.Context, string) (fulfil.Source, error) {
	return func(ctx context.Context, saleID string) (fulfil.Source, error) {
		consumer, err := queue.Consumer(ctx, saleID, ackWait)
		if err != nil {
			return nil, err
		}
		return source{consumer}, nil
	}
}

// source fits a jetqueue consumer to fulfil.Source.
type source struct{ consumer *jetqueue.Consumer }

func (s source) Fetch(limit int, wait time.Duration) ([]fulfil.Delivery, error) {
	fetched, err := s.consumer.Fetch(limit, wait)
	deliveries := make([]fulfil.Delivery, len(fetched))
	for i, d := range fetched {
		deliveries[i] = fulfil.Delivery{
			HandOver: d.HandOver, Err: d.Err, Raw: fulfil.Raw(d.Raw), Seq: d.Seq, Redelivered: d.Redelivered, More: d.More, Reply: d,
		}
	}
	return deliveries, err
}

// streams fits the stream and the catalogue's bucket to lifecycle's upkeep.
type streams struct{ *jetqueue.Queue }

func (s streams) Upkeep(ctx context.Context) (lifecycle.Standing, error) {
	standing, err := s.Queue.Upkeep(ctx)
	return lifecycle.Standing(standing), err
}

// rows fits the order rows in Postgres to what fulfil needs of them.
type rows struct{ *pgstore.Store }

func (r rows) Order(ctx context.Context, b fulfil.Batch) ([]fulfil.Verdict, error) {
	result, err := r.Store.Order(ctx, pgstore.Batch(b))
	return converted(result.Verdicts, verdictOf), refusal(err)
}

func verdictOf(v pgstore.Verdict) fulfil.Verdict {
	return fulfil.Verdict{RID: v.RID, State: v.State, Reason: v.Reason, PayBy: v.PayBy, Fate: string(v.Fate)}
}

func (r rows) Reject(ctx context.Context, b fulfil.Batch, sequence uint64, cause error) (fulfil.Verdict, error) {
	v, err := r.Store.Reject(ctx, pgstore.Batch(b), sequence, cause)
	return verdictOf(v), refusal(err)
}

func (r rows) Bury(ctx context.Context, u fulfil.Unreadable) (created bool, err error) {
	return r.Store.Bury(ctx, pgstore.Unreadable{
		SaleID: u.SaleID, Epoch: u.Epoch, Sequence: u.Sequence, Header: u.Header, Body: u.Body, Cause: u.Cause,
	})
}

// refusal tells fulfil's refusals from faults.
func refusal(err error) error {
	var beyond *pgstore.BeyondError
	switch {
	case errors.As(err, &beyond):
		return &fulfil.BeyondError{LastSeq: beyond.LastSeq, Cause: err}
	case errors.Is(err, pgstore.ErrStaleEpoch) || errors.Is(err, pgstore.ErrRetired) || errors.Is(err, pgstore.ErrNoSale):
		return fmt.Errorf("%w: %w", fulfil.ErrRefused, err)
	case errors.Is(err, pgstore.ErrInvalid):
		return fmt.Errorf("%w: %w", fulfil.ErrInvalid, err)
	case pgstore.Overloaded(err):
		return fmt.Errorf("%w: %w", fulfil.ErrOverloaded, err)
	default:
		return err
	}
}

func (r rows) UnappliedReleases(ctx context.Context, limitPerSale int, except []string) ([]fulfil.PendingRelease, error) {
	pending, err := r.Store.UnappliedReleases(ctx, limitPerSale, except)
	return converted(pending, func(p pgstore.PendingRelease) fulfil.PendingRelease { return fulfil.PendingRelease(p) }), err
}

func (r rows) Unshown(ctx context.Context, limitPerSale int, except []string) ([]fulfil.Unshown, error) {
	unshown, err := r.Store.Unshown(ctx, limitPerSale, except)
	return converted(unshown, func(u pgstore.Unshown) fulfil.Unshown { return fulfil.Unshown(u) }), err
}

func (r rows) MarkShown(ctx context.Context, rids []string, state sale.OrderState) error {
	return r.Store.MarkShown(ctx, rids, state)
}

func (r rows) UnfinishedAdjustments(ctx context.Context, limitPerSale int, except []string) ([]fulfil.PendingAdjustment, error) {
	pending, err := r.Store.UnfinishedAdjustments(ctx, limitPerSale, except)
	return converted(pending, func(p pgstore.PendingAdjustment) fulfil.PendingAdjustment { return fulfil.PendingAdjustment(p) }), err
}

func (r rows) FinishAdjustment(ctx context.Context, a sale.Adjustment, epoch int64, result sale.AdjustResult) (sale.AdjustmentRow, error) {
	row, err := r.Store.FinishAdjustment(ctx, a, epoch, result)
	return row, refusal(err)
}

// openPayments is what lifecycle opens the stream of payment events with.
func openPayments(queue *jetqueue.Queue, ackWait time.Duration) func(context.Context) (lifecycle.PaymentSource, error) {
	return func(ctx context.Context) (lifecycle.PaymentSource, error) {
		payments, err := queue.Payments(ctx, ackWait)
		if err != nil {
			return nil, err
		}
		return paymentSource{payments}, nil
	}
}

// paymentSource fits jetqueue's payment events to lifecycle.PaymentSource.
type paymentSource struct{ payments *jetqueue.Payments }

func (s paymentSource) Fetch(limit int, wait time.Duration) ([]lifecycle.PaymentDelivery, error) {
	fetched, err := s.payments.Fetch(limit, wait)
	return converted(fetched, func(d jetqueue.PaymentDelivery) lifecycle.PaymentDelivery {
		return lifecycle.PaymentDelivery{Event: d.Event, Err: d.Err, Seq: d.Seq, Reply: d}
	}), err
}

// inbox fits jetqueue's payment events to what the webhook needs.
type inbox struct {
	*jetqueue.Queue
	repeated func(first, again sale.PaymentEvent)
}

func (i inbox) PublishPayment(ctx context.Context, e sale.PaymentEvent) error {
	first, err := i.Queue.PublishPayment(ctx, e)
	if first != nil {
		i.repeated(*first, e)
	}
	return err
}

// paymentRows fits the payments in Postgres to what lifecycle needs of them.
type paymentRows struct{ *pgstore.Store }

func (r paymentRows) StorePayments(ctx context.Context, events []sale.PaymentEvent) ([]string, error) {
	stored, err := r.Store.StorePayments(ctx, events)
	return converted(stored, func(s pgstore.Storing) string { return string(s) }), err
}

func (r paymentRows) ApplyPayment(ctx context.Context, eventID string, late *lifecycle.LateUnit) (lifecycle.AppliedPayment, error) {
	applied, err := r.Store.ApplyPayment(ctx, eventID, (*pgstore.LateUnit)(late))
	return lifecycle.AppliedPayment(applied), err
}

func (r paymentRows) OrderLate(ctx context.Context, h sale.HandOver) error {
	_, err := r.Order(ctx, pgstore.Batch{SaleID: h.SaleID, Epoch: h.Epoch, PriceMinor: h.PriceMinor, Currency: h.Currency, Reservations: h.Reservations})
	return err
}

// buyersOrders fits the order rows to what buyers may do with theirs.
type buyersOrders struct {
	*pgstore.Store
	release func() // has new releases applied at once
}

func (b buyersOrders) Cancel(ctx context.Context, userID, id string) (sale.BuyerOrder, bool, error) {
	order, cancelled, found, err := b.Store.Cancel(ctx, userID, id)
	if cancelled {
		b.release()
	}
	return order, found, err
}

// endings are the loops by which sales and hand-overs leave the stores.
func endings(c config, p parts, queue *jetqueue.Queue, m *lifecycle.Metrics) []func(context.Context) {
	retiring := lifecycle.NewRetiring(c.retire, p.heal.store, queue, newRetirement(p, queue), pgstore.ErrLocked, m, p.log)
	purging := lifecycle.NewPurging(c.replayHorizon, handOvers{queue}, m, p.log)
	return []func(context.Context){retiring.Run, purging.Run}
}

// newReconciler reads whole sales, so it uses the connections for that.
func newReconciler(c config, p parts, queue *jetqueue.Queue, registry prometheus.Registerer) *reconcile.Reconciler {
	return reconcile.New(c.reconcile, p.heal.store, p.heal.stock, queue, pgstore.ErrLocked, p.points.Hit, reconcile.NewMetrics(registry), p.log)
}

// handOvers fits the stream to what its purge needs.
type handOvers struct{ *jetqueue.Queue }

func (h handOvers) Usage(ctx context.Context) (lifecycle.StreamUsage, error) {
	u, err := h.Queue.Usage(ctx)
	return lifecycle.StreamUsage(u), err
}

// auditPatience is how long a sale that is over may take to come to rest.
const auditPatience = 2 * time.Second

// newRetirement fits the stores to the steps by which sales leave them.
func newRetirement(p parts, queue *jetqueue.Queue) *retirement.Retirement {
	stores := evidence.Stores{Postgres: p.heal.store, Redis: p.heal.stock, Stream: queue}
	return &retirement.Retirement{
		Rows: p.heal.store, Stock: p.heal.stock, Stream: queue,
		Audit: func(ctx context.Context, saleID string) (sale.Verdict, error) {
			_, verdict, err := stores.Audit(ctx, saleID, nil, auditPatience)
			return verdict, err
		},
		Hit: func(point string) error { return p.points.Hit("worker." + point) },
	}
}

func converted[A, B any](list []A, convert func(A) B) []B {
	result := make([]B, len(list))
	for i, a := range list {
		result[i] = convert(a)
	}
	return result
}
