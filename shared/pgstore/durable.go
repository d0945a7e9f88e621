package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A commit waits for the synchronous standby. When the caller gives up, Postgres ends the
// wait: the outcome is unknown to the caller, and the commit is there for everybody to
// read, though the standby may never get it. Whoever acts elsewhere on what it has only
// read, settles a ticket or acknowledges a message, has to wait for the standby itself. A
// transaction that writes does so by its commit, one that locks a row too.
//
// standbyBarrier has a transaction wait for everything that anybody could read so far. It
// costs nothing where no commit waits for a standby.
const standbyBarrier = `
	SELECT CASE WHEN current_setting('synchronous_standby_names') <> '' THEN pg_logical_emit_message(true, 'sluice', '') END`

type executor interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// awaitStandby has the commit of a transaction that has written nothing wait for the standby.
func awaitStandby(ctx context.Context, tx executor) error {
	_, err := tx.Exec(ctx, standbyBarrier)
	return err
}

// readDurable is read for rows that the caller acts on outside Postgres.
func readDurable[T any](ctx context.Context, s *Store, scan pgx.RowToFunc[T], sql string, args ...any) ([]T, error) {
	rows, err := read(ctx, s, scan, sql, args...)
	if err != nil || len(rows) == 0 {
		return rows, err
	}
	return rows, s.update(ctx, standbyBarrier)
}
