package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"sluice/shared/coupon"
	"sluice/shared/evidence"
	"sluice/shared/jetqueue"
	"sluice/shared/pgstore"
	"sluice/shared/redisstock"
	"sluice/shared/sale"
	"sluice/worker/internal/adminapi"
	"sluice/worker/internal/fulfil"
	"sluice/worker/internal/pacing"
	"sluice/worker/internal/reconcile"
)

// storesOfOperators fits the stores to what operators see and change. The store in
// Postgres has connections of its own: an audit must not keep orders waiting.
func storesOfOperators(store *pgstore.Store, stock *redisstock.Client, queue *jetqueue.Queue, f *fulfil.Fulfilment,
	pacer *pacing.Pacer, r *reconcile.Reconciler, hit func(failpoint string) error, log *slog.Logger,
) adminapi.Stores {
	return adminapi.Stores{
		Sales: operatorsSales{store, stock}, Redis: stock, Units: operatorsUnits{store, f, hit, log},
		Evidence:  evidence.Stores{Postgres: store, Redis: stock, Stream: queue},
		Templates: operatorsTemplates{store}, Coupons: store, Letters: operatorsLetters{store}, HandOvers: operatorsHandOvers{queue}, Changes: store, Refunds: store, Ledger: store,
		Reconciliations: store, Reconciler: r, Pace: store, Pacer: pacer,
	}
}

// forOperators tells adminapi's refusals from faults.
func forOperators(err error) error {
	for ours, theirs := range map[error]error{
		pgstore.ErrNoSale: adminapi.ErrNoSale, pgstore.ErrRetired: adminapi.ErrRetired, pgstore.ErrNotLoaded: adminapi.ErrNotLoaded,
		pgstore.ErrRebuilding: adminapi.ErrRebuilding, pgstore.ErrTotalLimit: adminapi.ErrTotalLimit,
		pgstore.ErrOtherAdjustment: adminapi.ErrOtherAdjustment, pgstore.ErrNoLetter: adminapi.ErrNoLetter,
		pgstore.ErrNoTemplate: adminapi.ErrNoTemplate, pgstore.ErrTemplateTaken: adminapi.ErrTemplateExists,
		pgstore.ErrTemplateTotal: adminapi.ErrTemplateTotal, pgstore.ErrOffShelf: adminapi.ErrOffShelf, pgstore.ErrLetterSettled: adminapi.ErrLetterSettled, jetqueue.ErrUnreadable: adminapi.ErrUnreadable,
	} {
		if errors.Is(err, ours) {
			return fmt.Errorf("%w: %w", theirs, err)
		}
	}
	return err
}

type operatorsSales struct {
	*pgstore.Store
	stock *redisstock.Client
}

func (s operatorsSales) SetPaused(ctx context.Context, by sale.Actor, saleID string, paused bool) (sale.Entry, error) {
	e, err := s.Store.SetPaused(ctx, by, saleID, paused)
	return e, forOperators(err)
}

func (s operatorsSales) CloseSale(ctx context.Context, by sale.Actor, saleID string) (sale.Entry, error) {
	e, err := s.Store.CloseSale(ctx, by, saleID)
	return e, forOperators(err)
}

func (s operatorsSales) RebuildSale(ctx context.Context, by sale.Actor, saleID string) (sale.Entry, error) {
	e, err := s.Entry(ctx, saleID)
	if err != nil {
		return e, forOperators(err)
	}
	redis, _, err := s.stock.Snapshot(ctx, saleID, e.Epoch)
	if err != nil && !errors.Is(err, sale.ErrStale) {
		redis.Epoch = 0 // whoever rebuilds asks again
	}
	e, err = s.Store.RebuildSale(ctx, by, saleID, redis.Epoch)
	return e, forOperators(err)
}

// operatorsUnits writes an adjustment down, then has it finished at once, if it can be.
type operatorsUnits struct {
	store *pgstore.Store
	f     *fulfil.Fulfilment
	hit   func(failpoint string) error
	log   *slog.Logger
}

func (u operatorsUnits) Adjust(ctx context.Context, by sale.Actor, a sale.Adjustment) (sale.AdjustmentRow, error) {
	begun, err := u.store.BeginAdjustment(ctx, by, a)
	if err != nil {
		return sale.AdjustmentRow{}, forOperators(err)
	}
	if begun.State.Finished() {
		return begun.AdjustmentRow, nil
	}
	if err := u.hit(fulfil.AdjustedWritten); err != nil {
		return sale.AdjustmentRow{}, err
	}
	row, err := u.f.Adjust(ctx, fulfil.PendingAdjustment(begun))
	if err != nil {
		u.log.Warn("adjustment postponed", "sale", a.SaleID, "adjustment", a.ID, "error", err)
	}
	return row, nil
}

type operatorsTemplates struct{ *pgstore.Store }

func (t operatorsTemplates) CreateTemplate(ctx context.Context, by sale.Actor, r coupon.Rule) (coupon.Standing, bool, error) {
	made, created, err := t.Store.CreateTemplate(ctx, by, r)
	return made, created, forOperators(err)
}

func (t operatorsTemplates) CopyTemplate(ctx context.Context, by sale.Actor, from, id string, total *int64) (coupon.Standing, bool, error) {
	made, created, err := t.Store.CopyTemplate(ctx, by, from, id, total)
	return made, created, forOperators(err)
}

func (t operatorsTemplates) TakeOffShelf(ctx context.Context, by sale.Actor, id string) (coupon.Standing, error) {
	off, err := t.Store.TakeOffShelf(ctx, by, id)
	return off, forOperators(err)
}

type operatorsLetters struct{ *pgstore.Store }

func (l operatorsLetters) DeadLetter(ctx context.Context, id int64) (sale.DeadLetter, error) {
	letter, err := l.Store.DeadLetter(ctx, id)
	return letter, forOperators(err)
}

func (l operatorsLetters) SettleLetter(ctx context.Context, by sale.Actor, id int64, state sale.LetterState) (sale.DeadLetter, error) {
	letter, err := l.Store.SettleLetter(ctx, by, id, state)
	return letter, forOperators(err)
}

type operatorsHandOvers struct{ *jetqueue.Queue }

func (operatorsHandOvers) Reread(l sale.DeadLetter) (sale.HandOver, error) {
	h, err := jetqueue.DecodeRaw(l.SaleID, l.Header, l.Payload)
	return h, forOperators(err)
}
