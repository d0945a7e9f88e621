package fulfil

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"sluice/shared/sale"
	"sluice/shared/service"
)

const (
	releaseEvery = 500 * time.Millisecond
	releasePage  = 256 // releases of one sale in one call
)

// PendingRelease is a release that Redis is not known to have applied.
type PendingRelease struct {
	sale.Release
	Epoch int64 // the sale's current one
}

// releaseRows say what is to be released.
type releaseRows interface {
	UnappliedReleases(ctx context.Context, limitPerSale int, except []string) ([]PendingRelease, error)
	// MarkApplied returns, of each expired order among them that had no mark, how
	// long it is past its time to pay.
	MarkApplied(ctx context.Context, rids []string) (delays []time.Duration, err error)
}

// releaser closes tickets and gives their units back.
type releaser interface {
	Release(ctx context.Context, saleID string, epoch int64, releases []sale.Release) (sale.Snapshot, []sale.Released, error)
}

// releases applies to Redis, of all sales, what Postgres has closed.
type releases struct {
	rows    releaseRows
	stock   releaser
	hints   hints
	metrics *Metrics
	log     *slog.Logger
	loop    loop
	faults  service.Quiet
	unknown unknown
}

func newReleases(rows releaseRows, stock releaser, h hints, metrics *Metrics, log *slog.Logger) *releases {
	return &releases{rows: rows, stock: stock, hints: h, metrics: metrics, log: log, loop: newLoop()}
}

// poke makes the loop look at once.
func (r *releases) poke() { r.loop.poke() }

func (r *releases) run(ctx context.Context) {
	r.loop.run(ctx, releaseEvery, func() {
		if err := r.applyAll(ctx); err != nil && ctx.Err() == nil && r.faults.Allow() {
			r.log.Warn("releases postponed", "error", err)
		}
	})
}

// applyAll applies one page of every sale. One sale's fault does not keep the
// others from being applied.
func (r *releases) applyAll(ctx context.Context) error {
	pending, err := r.rows.UnappliedReleases(ctx, releasePage, r.unknown.passOver(time.Now()))
	if err != nil {
		return err
	}
	var faults []error
	for key, group := range groupBy(pending, func(p PendingRelease) saleEpoch { return saleEpoch{p.SaleID, p.Epoch} }) {
		more, err := r.apply(ctx, key, group)
		faults = append(faults, err)
		if more {
			r.poke()
		}
	}
	return errors.Join(faults...)
}

// apply releases a group; more says that its page was full and the next one is another.
func (r *releases) apply(ctx context.Context, key saleEpoch, group []PendingRelease) (more bool, err error) {
	batch := make([]sale.Release, len(group))
	for i, p := range group {
		batch[i] = p.Release
	}
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	snapshot, results, err := r.stock.Release(call, key.saleID, key.epoch, batch)
	if err != nil {
		return false, err
	}
	broadcast(r.hints, r.log, snapshot)
	var applied []string
	progress := false
	var told []sale.Result
	for i, result := range results {
		if result == sale.ReleaseUnknown {
			progress = r.unknown.add(batch[i].RID) || progress
			continue
		}
		progress = true
		applied = append(applied, batch[i].RID)
		told = append(told, sale.Result{RID: batch[i].RID, Status: batch[i].Status, Reason: batch[i].Reason})
	}
	if len(applied) > 0 {
		delays, err := r.rows.MarkApplied(ctx, applied)
		if err != nil {
			return false, err // applied again, to no effect
		}
		for _, delay := range delays {
			r.metrics.releaseDelay.Observe(delay.Seconds())
		}
	}
	r.metrics.releasesApplied.Add(float64(len(applied)))
	tell(r.hints, r.log, key.saleID, told)
	var fault error
	if unknown := len(batch) - len(applied); unknown > 0 {
		fault = fmt.Errorf("sale %s has no ticket in redis for %d releases", key.saleID, unknown)
	}
	return progress && len(batch) == releasePage, fault
}
