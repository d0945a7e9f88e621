package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/shared/jetqueue"
	"sluice/shared/pgstore"
	"sluice/shared/redisstock"
	"sluice/shared/sale"
	"sluice/worker/internal/recovery"
)

// openUnchecked opens connections that do not ask whether Postgres was compared with the
// other stores: for whoever compares, and for the schema.
func openUnchecked(ctx context.Context, c config, primary *pgstore.Primary) (*pgstore.Store, error) {
	const conns = 3 // the lock has one
	return pgstore.Open(ctx, pgstore.Config{URL: c.postgresURL, MaxConns: conns, StatementTimeout: c.statement, Primary: primary})
}

func newRecovery(store *pgstore.Store, stock *redisstock.Client, queue *jetqueue.Queue, registry prometheus.Registerer, log *slog.Logger) *recovery.Recovery {
	return recovery.New(recoverable{store}, stock, queue, paymentsBack{queue, store}, recovery.NewMetrics(registry), log)
}

// compare starts to look at every start of Postgres, and returns once the present one is
// known to have everything. It fails only when ctx ends.
func (w *warmUp) compare(ctx context.Context, queue *jetqueue.Queue, registry prometheus.Registerer) (stop func(), err error) {
	r := newRecovery(w.heal.unchecked, w.stock, queue, registry, w.log)
	looking, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { r.Run(looking) })
	stop = func() { cancel(); running.Wait() }
	if err := w.checked.Until(ctx, w.log, w.store.Ping); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

// postgresAnswers fails while Postgres does not answer. One that waits to be compared
// does: that it is not worked with is told by postgresCompared, and what it waits
// for may be another store.
func (p parts) postgresAnswers(ctx context.Context) error {
	if err := p.store.Ping(ctx); !errors.Is(err, pgstore.ErrUnchecked) {
		return err
	}
	return nil
}

// postgresCompared fails while Postgres answers, and waits to be compared with the other
// stores or to be brought back: nothing is ordered, paid or expired.
func (p parts) postgresCompared(ctx context.Context) error {
	if err := p.store.Ping(ctx); errors.Is(err, pgstore.ErrUnchecked) {
		return err
	}
	return nil
}

// recoverable fits Postgres to what a recovery needs of it.
type recoverable struct{ *pgstore.Store }

func (r recoverable) Server(ctx context.Context) (recovery.Server, error) {
	s, err := r.Store.Server(ctx)
	return recovery.Server{StartedAt: s.StartedAt, State: recovery.State(s.State)}, err
}

func (r recoverable) NoteServer(ctx context.Context, s recovery.Server) error {
	return r.Store.NoteServer(ctx, pgstore.Server{StartedAt: s.StartedAt, State: pgstore.ServerState(s.State)})
}

func (r recoverable) Lock(ctx context.Context) (unlock func(), locked bool, err error) {
	unlock, err = r.LockRecovery(ctx)
	if errors.Is(err, pgstore.ErrLocked) {
		return nil, false, nil
	}
	return unlock, err == nil, err
}

// Order leaves out what is refused for ever, and what only a rebuild can decide: both
// have been decided before, or come again.
func (r recoverable) Order(ctx context.Context, h sale.HandOver, sequences []uint64) (ordered, surplus int, err error) {
	b := pgstore.Batch{SaleID: h.SaleID, Epoch: h.Epoch, PriceMinor: h.PriceMinor, Currency: h.Currency, Reservations: h.Reservations,
		Sequences: sequences}
	result, err := r.Store.Order(ctx, b)
	switch {
	case errors.Is(err, pgstore.ErrInvalid) && len(h.Reservations) > 1:
		return r.orderEach(ctx, h, sequences)
	case errors.Is(err, pgstore.ErrInvalid), errors.Is(err, pgstore.ErrStaleEpoch), errors.As(err, new(*pgstore.BeyondError)):
		return 0, 0, nil
	}
	return result.Ordered, result.Surplus, err
}

func (r recoverable) orderEach(ctx context.Context, h sale.HandOver, sequences []uint64) (ordered, surplus int, err error) {
	for i := range h.Reservations {
		one := h
		one.Reservations = h.Reservations[i : i+1]
		o, s, err := r.Order(ctx, one, sequences[i:i+1])
		if err != nil {
			return ordered, surplus, err
		}
		ordered, surplus = ordered+o, surplus+s
	}
	return ordered, surplus, nil
}

// paymentsBack brings payment events from the stream to Postgres.
type paymentsBack struct {
	queue *jetqueue.Queue
	store *pgstore.Store
}

const paymentsPage = 200

func (p paymentsBack) Keep(ctx context.Context) (events int, err error) {
	var page []sale.PaymentEvent
	flush := func() error {
		if len(page) == 0 {
			return nil
		}
		_, err := p.store.StorePayments(ctx, page)
		events, page = events+len(page), nil
		return err
	}
	err = p.queue.EachPayment(ctx, func(e sale.PaymentEvent, unreadable error) error {
		if unreadable != nil {
			return nil // it was never kept
		}
		if page = append(page, e); len(page) < paymentsPage {
			return nil
		}
		return flush()
	})
	if err != nil {
		return events, err
	}
	return events, flush()
}

// Acknowledged tells nothing of events that this version cannot read.
func (p paymentsBack) Acknowledged(ctx context.Context, most int) ([]string, error) {
	return p.queue.AcknowledgedPayments(ctx, most)
}

// Apply leaves what needs a new unit, or waits for something, to the ordinary loop.
func (p paymentsBack) Apply(ctx context.Context) error {
	for after := (sale.Payment{}); ; {
		page, next, err := p.store.UnappliedPayments(ctx, after, paymentsPage)
		if err != nil {
			return err
		}
		for _, event := range page {
			if _, err := p.store.ApplyPayment(ctx, event.EventID, nil); err != nil {
				return err
			}
		}
		if next == (sale.Payment{}) {
			return nil
		}
		after = next
	}
}
