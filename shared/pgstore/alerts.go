package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"sluice/shared/sale"
)

// alertsLock is the advisory lock of the one process that evaluates.
const alertsLock = `hashtextextended('sluice/alerts/' || current_schema(), 0)`

// AlertKeeper is a session that makes this the only process that evaluates alerts.
// What it writes is refused once the session is lost, so that no two ever write. It must
// be used every few seconds (lockLease), by one goroutine.
type AlertKeeper struct{ conn *pgxpool.Conn }

// KeepAlerts makes the caller the only process that evaluates alerts, or returns
// ErrLocked at once.
func (s *Store) KeepAlerts(ctx context.Context) (*AlertKeeper, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot keep alerts: %w", err)
	}
	var locked bool
	if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock(`+alertsLock+`)`).Scan(&locked); err != nil {
		dropConn(conn)
		return nil, fmt.Errorf("cannot keep alerts: %w", err)
	}
	if !locked {
		conn.Release()
		return nil, fmt.Errorf("cannot keep alerts: %w", ErrLocked)
	}
	if _, err := conn.Exec(ctx, lockLease); err != nil {
		dropConn(conn)
		return nil, fmt.Errorf("cannot keep alerts: %w", err)
	}
	return &AlertKeeper{conn}, nil
}

// Alerts returns all that are written.
func (k *AlertKeeper) Alerts(ctx context.Context) ([]sale.Alert, error) { return alerts(ctx, k.conn) }

// SaveAlerts writes some and removes others.
func (k *AlertKeeper) SaveAlerts(ctx context.Context, kept []sale.Alert, gone []sale.AlertKey) error {
	err := pgx.BeginFunc(ctx, k.conn, func(tx pgx.Tx) error { return saveAlerts(ctx, tx, kept, gone) })
	return wrapped(err, "cannot save %d alerts", len(kept)+len(gone))
}

// Close lets another process evaluate.
func (k *AlertKeeper) Close() { unlockSession(k.conn, alertsLock) }

// Alerts returns all that are written.
func (s *Store) Alerts(ctx context.Context) ([]sale.Alert, error) { return alerts(ctx, s.pool) }

// SaveAlerts is for what a process has found while it could not know who keeps them.
func (s *Store) SaveAlerts(ctx context.Context, kept []sale.Alert, gone []sale.AlertKey) error {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { return saveAlerts(ctx, tx, kept, gone) })
	return wrapped(err, "cannot save %d alerts", len(kept)+len(gone))
}

func alerts(ctx context.Context, q querier) ([]sale.Alert, error) {
	list, err := collect(ctx, q, scanAlert, `
		SELECT alert, sale_id, dependency, state, value, summary, since, fired_at, resolved_at, clear_since, told
		FROM alerts ORDER BY fingerprint`)
	return list, wrapped(err, "cannot read alerts")
}

func scanAlert(row pgx.CollectableRow) (sale.Alert, error) {
	var a sale.Alert
	var fired, resolved, clear *time.Time
	err := row.Scan(&a.Name, &a.SaleID, &a.Dependency, &a.State, &a.Value, &a.Summary, &a.Since, &fired, &resolved, &clear, &a.Told)
	a.Since, a.FiredAt, a.ResolvedAt, a.ClearSince = a.Since.UTC(), utc(fired), utc(resolved), utc(clear)
	return a, err
}

func saveAlerts(ctx context.Context, tx pgx.Tx, kept []sale.Alert, gone []sale.AlertKey) error {
	var batch pgx.Batch
	for _, a := range kept {
		batch.Queue(`
			INSERT INTO alerts (fingerprint, alert, sale_id, dependency, state, value, summary, since, fired_at, resolved_at, clear_since, told)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
			ON CONFLICT (fingerprint) DO UPDATE SET state = excluded.state, value = excluded.value, summary = excluded.summary,
				since = excluded.since, fired_at = excluded.fired_at, resolved_at = excluded.resolved_at,
				clear_since = excluded.clear_since, told = excluded.told`,
			a.Fingerprint(), a.Name, a.SaleID, a.Dependency, a.State, a.Value, a.Summary, a.Since,
			nullable(a.FiredAt), nullable(a.ResolvedAt), nullable(a.ClearSince), a.Told)
	}
	for _, key := range gone {
		batch.Queue(`DELETE FROM alerts WHERE fingerprint = $1`, key.Fingerprint())
	}
	return tx.SendBatch(ctx, &batch).Close()
}

// nullable is NULL for a time that has not come.
func nullable(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
