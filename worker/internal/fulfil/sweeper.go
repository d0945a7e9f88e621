package fulfil

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"sluice/shared/sale"
	"sluice/shared/service"
)

// sweepEvery is how often a sale's handoff list is looked at.
const sweepEvery = time.Second

// handOffList names the reservations that JetStream has not acknowledged.
type handOffList interface {
	Overdue(ctx context.Context, saleID string, epoch int64, age time.Duration, limit int) ([]sale.Reservation, error)
	HandedOver(ctx context.Context, saleID string, epoch int64, rids []string) error
}

// publisher stores hand-overs durably.
type publisher interface {
	Publish(ctx context.Context, h sale.HandOver) (seq uint64, err error)
}

// sweeper hands over again what stays in handoff: its gateway died, or never
// heard back. The first hand-over may have arrived all the same; the rid makes
// the second one harmless.
type sweeper struct {
	*saleWorker
	faults service.Quiet
}

func newSweeper(w *saleWorker) *sweeper { return &sweeper{saleWorker: w} }

func (s *sweeper) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(sweepEvery/2 + rand.N(sweepEvery)): // so that two workers rarely sweep at once
		}
		if err := s.sweep(ctx); err != nil && !errors.Is(err, sale.ErrStale) && ctx.Err() == nil && s.faults.Allow() {
			s.log.Warn("sweep failed", "error", err)
		}
	}
}

// sweep hands over until less than a full hand-over is overdue.
func (s *sweeper) sweep(ctx context.Context) error {
	for {
		n, err := s.sweepOnce(ctx)
		if err != nil || n < sale.MaxHandOver {
			return err
		}
	}
}

func (s *sweeper) sweepOnce(ctx context.Context) (n int, err error) {
	e := s.entry.Load()
	overdue, err := s.overdue(ctx, e)
	if err != nil || len(overdue) == 0 {
		return 0, err
	}
	h := sale.HandOver{
		SaleID: s.saleID, Epoch: e.Epoch, PriceMinor: e.PriceMinor, Currency: e.Currency, Reservations: overdue,
	}
	seq, err := s.publish(ctx, h)
	if err != nil {
		return 0, err
	}
	s.metrics.swept.Add(float64(len(overdue)))
	s.log.Info("reservations swept", "seq", seq, "reservations", len(overdue))
	return len(overdue), s.looks.look(ctx, func(ctx context.Context) error {
		return s.stores.Stock.HandedOver(ctx, s.saleID, e.Epoch, ridsOf(overdue))
	})
}

func (s *sweeper) overdue(ctx context.Context, e *sale.Entry) (overdue []sale.Reservation, err error) {
	err = s.looks.look(ctx, func(ctx context.Context) error {
		overdue, err = s.stores.Stock.Overdue(ctx, s.saleID, e.Epoch, s.cfg.SweepAfter, sale.MaxHandOver)
		return err
	})
	return overdue, err
}

func (s *sweeper) publish(ctx context.Context, h sale.HandOver) (seq uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return s.stores.HandOvers.Publish(ctx, h)
}

func ridsOf(reservations []sale.Reservation) []string {
	rids := make([]string, len(reservations))
	for i, r := range reservations {
		rids[i] = r.RID
	}
	return rids
}
