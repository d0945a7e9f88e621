package fulfil

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"sluice/shared/sale"
)

const (
	adjustEvery = 500 * time.Millisecond
	adjustPage  = 64 // adjustments of one sale in one call
)

// Failpoints of an adjustment, beside AdjustedWritten, which whoever writes it down hits.
const (
	AdjustedWritten  = "worker.adjusted_written"  // the row is committed, Redis not asked
	AdjustedInRedis  = "worker.adjusted_in_redis" // Redis has decided, the row does not say so
	AdjustedFinished = "worker.adjusted_finished" // the row says so, nobody was answered
)

// PendingAdjustment is an adjustment that is not finished.
type PendingAdjustment struct {
	sale.AdjustmentRow
	Epoch int64 // the sale's current one
}

// adjustmentRows say which adjustments are to be brought to Redis.
type adjustmentRows interface {
	UnfinishedAdjustments(ctx context.Context, limitPerSale int, except []string) ([]PendingAdjustment, error)
	// FinishAdjustment writes down what Redis decided at an epoch; ErrRefused when
	// that is not the sale's current one.
	FinishAdjustment(ctx context.Context, a sale.Adjustment, epoch int64, r sale.AdjustResult) (sale.AdjustmentRow, error)
}

// adjuster moves units in Redis, once an id.
type adjuster interface {
	Adjust(ctx context.Context, saleID string, epoch int64, adjustments []sale.Adjustment) (sale.Snapshot, []sale.AdjustResult, error)
}

// adjustments finishes, of all sales, what operators have begun. An increase is in the
// total of Postgres already; a decrease leaves it here, once Redis has given the units
// up. Every step may be repeated, by any worker: Redis decides an id once at an
// epoch, and the row has one outcome.
type adjustments struct {
	rows  adjustmentRows
	stock adjuster
	hints newsHints
	hit   func(failpoint string) error
	log   *slog.Logger
}

func newAdjustments(a *adjustments) *owed[PendingAdjustment] {
	return newOwed(debt[PendingAdjustment]{
		name: "adjustments", every: adjustEvery, page: adjustPage, read: a.rows.UnfinishedAdjustments,
		key: func(p PendingAdjustment) saleEpoch { return saleEpoch{p.SaleID, p.Epoch} },
		apply: func(ctx context.Context, key saleEpoch, rows []PendingAdjustment) (missing []string, err error) {
			_, err = a.finish(ctx, key, rows)
			return nil, err
		},
	}, a.log)
}

// Adjust finishes an adjustment that was begun, at once, and returns it as it then
// stands. After an error the loop finishes it.
func (f *Fulfilment) Adjust(ctx context.Context, p PendingAdjustment) (sale.AdjustmentRow, error) {
	finished, err := f.adjusting.finish(ctx, saleEpoch{p.SaleID, p.Epoch}, []PendingAdjustment{p})
	if err != nil {
		return p.AdjustmentRow, err
	}
	return finished[0], nil
}

func (a *adjustments) finish(ctx context.Context, key saleEpoch, rows []PendingAdjustment) ([]sale.AdjustmentRow, error) {
	batch := make([]sale.Adjustment, len(rows))
	for i, p := range rows {
		batch[i] = p.Adjustment
	}
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	snapshot, results, err := a.stock.Adjust(call, key.saleID, key.epoch, batch)
	if err != nil {
		return nil, err
	}
	broadcast(a.hints, a.log, snapshot)
	if err := a.hit(AdjustedInRedis); err != nil {
		return nil, err
	}
	finished := make([]sale.AdjustmentRow, len(rows))
	faults := make([]error, len(rows))
	for i, r := range results {
		finished[i], faults[i] = a.rows.FinishAdjustment(ctx, batch[i], key.epoch, r)
		if r.Code != sale.AdjustUnsold && finished[i].State == sale.AdjustmentRefused {
			a.log.Error("redis offered units that postgres does not have", "sale", key.saleID, "adjustment", batch[i].ID, "unsold", finished[i].Unsold)
		}
	}
	return finished, errors.Join(append(faults, a.hit(AdjustedFinished))...)
}
