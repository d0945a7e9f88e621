package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// PendingRelease is a release that Redis is not known to have applied.
type PendingRelease struct {
	sale.Release
	Epoch int64 // the sale's current one
}

const releaseColumns = `r.rid::text, r.sale_id, r.status, r.reason, r.give, coalesce(r.holder::text, '')`

func releaseFields(r *sale.Release) []any {
	return []any{&r.RID, &r.SaleID, &r.Status, &r.Reason, &r.Give, &r.Holder}
}

func scanPendingRelease(row pgx.CollectableRow) (PendingRelease, error) {
	var p PendingRelease
	stays := false
	err := row.Scan(append(releaseFields(&p.Release), &p.Epoch, &stays)...)
	p.Slot = sale.SlotOpens
	if stays {
		p.Slot = sale.SlotStays
	}
	return p, err
}

// UnappliedReleases returns the oldest releases without an applied mark, at
// most limit of each sale, so that a sale whose Redis is down does not hide
// the others'; those in except are passed over. Retired sales have no tickets:
// ApplyRetired is for theirs.
func (s *Store) UnappliedReleases(ctx context.Context, limit int, except []string) ([]PendingRelease, error) {
	pending, err := readDurable(ctx, s, scanPendingRelease, `
		SELECT `+releaseColumns+`, s.epoch, coalesce(o.holds_slot, false)
		FROM sales s CROSS JOIN LATERAL (
			SELECT rid, sale_id, status, reason, give, holder, created_at FROM releases
			WHERE sale_id = s.sale_id AND applied_at IS NULL AND rid <> ALL (coalesce($2::text[], '{}')::uuid[])
			ORDER BY created_at LIMIT $1
		) r LEFT JOIN orders o ON o.id = r.rid
		WHERE s.forgotten_at IS NULL AND NOT s.retired
		ORDER BY r.created_at, r.rid`, limit, except)
	if err != nil {
		return nil, fmt.Errorf("cannot read unapplied releases: %w", err)
	}
	return pending, nil
}

// ApplyRetired marks what retired sales have released as applied: Redis has nothing
// of them any more.
func (s *Store) ApplyRetired(ctx context.Context) (applied int64, err error) {
	err = s.inTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			WITH unmarked AS (
				SELECT r.rid FROM releases r JOIN sales s USING (sale_id)
				WHERE r.applied_at IS NULL AND s.retired
				ORDER BY r.rid LIMIT 1000 FOR UPDATE OF r SKIP LOCKED
			)
			UPDATE releases r SET applied_at = now() FROM unmarked WHERE r.rid = unmarked.rid`)
		applied = tag.RowsAffected()
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("cannot mark releases of retired sales as applied: %w", err)
	}
	return applied, nil
}

// MarkApplied notes that Redis has applied these releases, now or before. An
// unknown ticket is no reason to call it. Of the expired orders among those that
// had no mark, it returns how long each was past its time to pay: the delay from
// expiry to sellable, by the database's clock.
func (s *Store) MarkApplied(ctx context.Context, rids []string) ([]time.Duration, error) {
	var delays []time.Duration
	err := s.inTx(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		delays, err = collect(ctx, tx, pgx.RowTo[time.Duration], `
			WITH unmarked AS (
				SELECT rid FROM releases WHERE rid = ANY ($1::text[]::uuid[]) AND applied_at IS NULL
				ORDER BY rid FOR UPDATE
			), marked AS (
				UPDATE releases r SET applied_at = now() FROM unmarked WHERE r.rid = unmarked.rid
				RETURNING r.rid, r.status, r.applied_at
			)
			SELECT m.applied_at - o.expires_at FROM marked m JOIN orders o ON o.id = m.rid
			WHERE m.status = 'expired'`, rids)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot mark %d releases as applied: %w", len(rids), err)
	}
	return delays, nil
}
