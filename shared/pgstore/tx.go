package pgstore

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// maxAttempts bounds how often a transaction that lost a race is run.
const maxAttempts = 10

// errStartOver is what a transaction fails with that met rows which changed under
// its hands. Run again, it sees them as they are now.
var errStartOver = errors.New("what stood in the way is gone again")

// inTx runs fn in a READ COMMITTED transaction within the store's own
// deadline, again if it was the victim of a deadlock or asks to start over. Any other failure is the
// caller's: after a broken COMMIT nobody knows whether it happened.
func (s *Store) inTx(ctx context.Context, fn func(context.Context, pgx.Tx) error) error {
	return s.again(ctx, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { return fn(ctx, tx) })
	})
}

// update runs one statement, which is a transaction of its own, as inTx does.
func (s *Store) update(ctx context.Context, sql string, args ...any) error {
	return s.again(ctx, func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, sql, args...)
		return err
	})
}

func (s *Store) again(ctx context.Context, transaction func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.callTimeout)
	defer cancel()
	for attempt := 1; ; attempt++ {
		err := transaction(ctx)
		if err == nil || !lostRace(err) {
			return err
		}
		if s.lost != nil {
			s.lost(err)
		}
		if attempt == maxAttempts {
			return err
		}
	}
}

// lostRace reports whether the transaction was rolled back only because of others:
// serialization failure, deadlock, or rows that changed meanwhile.
func lostRace(err error) bool {
	if errors.Is(err, errStartOver) {
		return true
	}
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "40001" || pg.Code == "40P01")
}

// unlimited has the statements of a transaction take as long as the caller's context
// allows: the work grows with the size of a sale.
const unlimited = `SET LOCAL statement_timeout = 0`

// bulkTx runs fn in a transaction whose statements are unlimited.
func (s *Store) bulkTx(ctx context.Context, fn func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, unlimited); err != nil {
			return err
		}
		return fn(tx)
	})
}

// snapshotTx runs fn in a transaction whose statements are unlimited and read several
// tables as of one moment. It locks no row, so the caller may take its time with what
// Postgres has sent: until Postgres hears of it again the transaction is idle. It ends in
// a rollback, for nothing is to be committed where commits may be scarce.
func (s *Store) snapshotTx(ctx context.Context, fn func(pgx.Tx) error) (err error) {
	tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return err
	}
	defer func() {
		if ended := tx.Rollback(ctx); err == nil {
			err = ended
		}
	}()
	if _, err := tx.Exec(ctx, unlimited+`; SET LOCAL idle_in_transaction_session_timeout = '15min'`, pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	return fn(tx)
}

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// collect runs a query and scans all its rows.
func collect[T any](ctx context.Context, q querier, scan pgx.RowToFunc[T], sql string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scan)
}

// read is collect on the pool, within the store's own deadline.
func read[T any](ctx context.Context, s *Store, scan pgx.RowToFunc[T], sql string, args ...any) ([]T, error) {
	ctx, cancel := context.WithTimeout(ctx, s.callTimeout)
	defer cancel()
	return collect(ctx, s.pool, scan, sql, args...)
}
