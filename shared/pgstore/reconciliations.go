package pgstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// How long reconciliations are kept: by sale for a day, the sums of a day for a year.
const (
	keepRuns = 24 * time.Hour
	keepDays = 366 * 24 * time.Hour
)

// LockReconciliation makes the caller the only process that reconciles, or returns
// ErrLocked at once.
func (s *Store) LockReconciliation(ctx context.Context) (unlock func(), err error) {
	unlock, err = s.lockSession(ctx, reconcileLock)
	if err != nil {
		return nil, fmt.Errorf("cannot lock the reconciliation: %w", err)
	}
	return unlock, nil
}

// BeginReconciliation begins a run, unless one began less than apart ago: then run is 0.
func (s *Store) BeginReconciliation(ctx context.Context, apart time.Duration) (run int64, err error) {
	err = s.inTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `
			INSERT INTO reconciliation_runs (started_at)
			SELECT now() WHERE NOT EXISTS (SELECT FROM reconciliation_runs WHERE started_at > now() - $1::interval)
			RETURNING run`, apart).Scan(&run)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("cannot begin a reconciliation: %w", err)
	}
	return run, nil
}

// LastReconciliation returns what was last found out about a sale; the zero value when
// nothing was in the last day.
func (s *Store) LastReconciliation(ctx context.Context, saleID string) (sale.Reconciliation, error) {
	last, err := read(ctx, s, scanReconciliation, `
		SELECT `+reconciliationColumns+` FROM reconciliations WHERE sale_id = $1 ORDER BY run DESC LIMIT 1`, saleID)
	if err != nil || len(last) == 0 {
		return sale.Reconciliation{}, wrapped(err, "cannot read the last reconciliation of sale %s", saleID)
	}
	return last[0], nil
}

// ReconciliationsOf returns what a run found out, by sale.
func (s *Store) ReconciliationsOf(ctx context.Context, run int64) ([]sale.Reconciliation, error) {
	rows, err := read(ctx, s, scanReconciliation, `
		SELECT `+reconciliationColumns+` FROM reconciliations WHERE run = $1 ORDER BY sale_id`, run)
	return rows, wrapped(err, "cannot read reconciliation %d", run)
}

const reconciliationColumns = `run, sale_id, at, epoch, in_redis, at_rest, total, held, holding, stock, sold_out, accepted, served,
	handoff, handoff_age, unapplied, unshown, dead_letters, surplus, findings, deviations`

func scanReconciliation(row pgx.CollectableRow) (sale.Reconciliation, error) {
	var r sale.Reconciliation
	var findings []byte
	err := row.Scan(&r.Run, &r.SaleID, &r.At, &r.Epoch, &r.InRedis, &r.AtRest, &r.Total, &r.Held, &r.Holding, &r.Stock, &r.SoldOut, &r.Accepted, &r.Served,
		&r.HandOff, &r.HandOffAge, &r.Unapplied, &r.Unshown, &r.DeadLetters, &r.Surplus, &findings, &r.Deviations)
	if err == nil {
		err = json.Unmarshal(findings, &r.Findings)
	}
	r.At, r.Free = r.At.UTC(), r.Total-r.Held
	return r, err
}

// SaveReconciliation writes what a run found out about a sale, in place of what it
// wrote of it before.
func (s *Store) SaveReconciliation(ctx context.Context, r sale.Reconciliation) error {
	findings, err := json.Marshal(append([]sale.Finding{}, r.Findings...))
	if err != nil {
		return fmt.Errorf("cannot save reconciliation %d of sale %s: %w", r.Run, r.SaleID, err)
	}
	err = s.update(ctx, `
		WITH before AS (
			SELECT f ->> 'kind' AS kind, sum((f ->> 'amount')::bigint) AS amount
			FROM (
				SELECT findings FROM reconciliations
				WHERE sale_id = $2 AND run < $1 AND (at AT TIME ZONE 'UTC')::date = (now() AT TIME ZONE 'UTC')::date
				ORDER BY run DESC LIMIT 1
			) last, jsonb_array_elements(last.findings) f
			WHERE (f ->> 'counts')::boolean GROUP BY 1
		)
		INSERT INTO reconciliations (run, sale_id, epoch, in_redis, at_rest, total, held, holding, stock, sold_out, accepted, served,
			handoff, handoff_age, unapplied, unshown, dead_letters, surplus, findings, deviations, fresh_deviations)
		SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19::jsonb, $20, (
			SELECT coalesce(sum(greatest((f ->> 'amount')::bigint - coalesce(b.amount, 0), 0)), 0)
			FROM jsonb_array_elements($19::jsonb) f LEFT JOIN before b ON b.kind = f ->> 'kind'
			WHERE (f ->> 'counts')::boolean
		)
		ON CONFLICT (run, sale_id) DO UPDATE SET findings = excluded.findings`,
		r.Run, r.SaleID, r.Epoch, r.InRedis, r.AtRest, r.Total, r.Held, r.Holding, r.Stock, r.SoldOut, r.Accepted, r.Served,
		r.HandOff, r.HandOffAge, r.Unapplied, r.Unshown, r.DeadLetters, r.Surplus, string(findings), r.Deviations)
	return wrapped(err, "cannot save reconciliation %d of sale %s", r.Run, r.SaleID)
}

const repairedFindings = `SELECT count(*) FROM reconciliations c, jsonb_array_elements(c.findings) f WHERE c.run = r.run AND (f ->> 'repaired')::boolean`

// FinishReconciliation ends a run: it adds it to its day and drops what is old.
func (s *Store) FinishReconciliation(ctx context.Context, run int64) error {
	err := s.inTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `UPDATE reconciliation_runs SET finished_at = now() WHERE run = $1 AND finished_at IS NULL`, run)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		_, err = tx.Exec(ctx, `
			INSERT INTO reconciliation_days AS d (day, runs, deviations, repaired)
			SELECT (r.started_at AT TIME ZONE 'UTC')::date, 1,
				(SELECT coalesce(sum(fresh_deviations), 0) FROM reconciliations c WHERE c.run = r.run), (`+repairedFindings+`)
			FROM reconciliation_runs r WHERE r.run = $1
			ON CONFLICT (day) DO UPDATE SET runs = d.runs + 1, deviations = d.deviations + excluded.deviations, repaired = d.repaired + excluded.repaired`, run)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM reconciliation_runs WHERE started_at < now() - $1::interval`, keepRuns); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM reconciliation_days WHERE day < (now() - $1::interval)::date`, keepDays)
		return err
	})
	return wrapped(err, "cannot finish reconciliation %d", run)
}

// ReconciliationRuns returns the newest runs, at most limit.
func (s *Store) ReconciliationRuns(ctx context.Context, limit int) ([]sale.ReconciliationRun, error) {
	runs, err := read(ctx, s, scanRun, `
		SELECT r.run, r.started_at, r.finished_at,
			(SELECT count(*) FROM reconciliations c WHERE c.run = r.run),
			(SELECT coalesce(sum(deviations), 0)::bigint FROM reconciliations c WHERE c.run = r.run), (`+repairedFindings+`),
			(SELECT coalesce(jsonb_object_agg(kind, amount), '{}') FROM (
				SELECT f ->> 'kind' AS kind, sum((f ->> 'amount')::bigint) AS amount
				FROM reconciliations c, jsonb_array_elements(c.findings) f
				WHERE c.run = r.run AND (f ->> 'counts')::boolean GROUP BY 1
			) k)
		FROM reconciliation_runs r ORDER BY r.run DESC LIMIT $1`, limit)
	return runs, wrapped(err, "cannot read reconciliations")
}

func scanRun(row pgx.CollectableRow) (sale.ReconciliationRun, error) {
	var r sale.ReconciliationRun
	var finished *time.Time
	var kinds []byte
	err := row.Scan(&r.Run, &r.StartedAt, &finished, &r.Sales, &r.Deviations, &r.Repaired, &kinds)
	if err == nil {
		err = json.Unmarshal(kinds, &r.ByKind)
	}
	r.StartedAt, r.FinishedAt = r.StartedAt.UTC(), utc(finished)
	return r, err
}

// ReconciliationDays returns the newest days, at most limit.
func (s *Store) ReconciliationDays(ctx context.Context, limit int) ([]sale.ReconciliationDay, error) {
	days, err := read(ctx, s, pgx.RowToStructByPos[sale.ReconciliationDay], `
		SELECT day, runs, deviations, repaired FROM reconciliation_days ORDER BY day DESC LIMIT $1`, limit)
	return days, wrapped(err, "cannot read days of reconciliations")
}

// wrapped says what could not be done; nil stays nil.
func wrapped(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
