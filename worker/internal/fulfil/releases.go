package fulfil

import (
	"context"
	"log/slog"
	"time"

	"sluice/shared/sale"
)

const (
	releaseEvery = 500 * time.Millisecond
	releasePage  = 256 // releases of one sale in one call
)

// ReleasedInRedis is the failpoint between a release in Redis and its mark in Postgres.
const ReleasedInRedis = "worker.released_in_redis"

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
	hit     func(failpoint string) error
	metrics *Metrics
	log     *slog.Logger
}

func newReleases(rows releaseRows, stock releaser, h hints, hit func(failpoint string) error, metrics *Metrics, log *slog.Logger) *owed[PendingRelease] {
	r := &releases{rows: rows, stock: stock, hints: h, hit: hit, metrics: metrics, log: log}
	return newOwed(debt[PendingRelease]{
		name: "releases", every: releaseEvery, page: releasePage, read: rows.UnappliedReleases,
		key:   func(p PendingRelease) saleEpoch { return saleEpoch{p.SaleID, p.Epoch} },
		apply: r.apply,
	}, log)
}

func (r *releases) apply(ctx context.Context, key saleEpoch, rows []PendingRelease) (missing []string, err error) {
	batch := make([]sale.Release, len(rows))
	for i, p := range rows {
		batch[i] = p.Release
	}
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	snapshot, results, err := r.stock.Release(call, key.saleID, key.epoch, batch)
	if err != nil {
		return nil, err
	}
	broadcast(r.hints, r.log, snapshot)
	if err := r.hit(ReleasedInRedis); err != nil {
		return nil, err
	}
	var applied []string
	var told []sale.Result
	for i, result := range results {
		if result == sale.ReleaseUnknown {
			missing = append(missing, batch[i].RID)
			continue
		}
		applied = append(applied, batch[i].RID)
		told = append(told, sale.Result{RID: batch[i].RID, Status: batch[i].Status, Reason: batch[i].Reason})
	}
	if err := r.mark(ctx, applied); err != nil {
		return nil, err // applied again, to no effect
	}
	tell(r.hints, r.log, key.saleID, told)
	return missing, nil
}

func (r *releases) mark(ctx context.Context, applied []string) error {
	if len(applied) == 0 {
		return nil
	}
	delays, err := r.rows.MarkApplied(ctx, applied)
	if err != nil {
		return err
	}
	for _, delay := range delays {
		r.metrics.releaseDelay.Observe(delay.Seconds())
	}
	r.metrics.releasesApplied.Add(float64(len(applied)))
	return nil
}
