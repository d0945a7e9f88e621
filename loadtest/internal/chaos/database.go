package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const hangUpWithin = time.Second

// connect opens a connection to Postgres that no worker shares.
func (r *Round) connect(ctx context.Context) (*pgx.Conn, error) {
	db, err := pgx.Connect(ctx, r.stack.Info().Postgres.URL)
	if err != nil {
		return nil, fmt.Errorf("cannot connect to postgres: %w", err)
	}
	return db, nil
}

// hangUp ends a connection, whatever is under way on it. That it cannot be told so changes
// nothing: Postgres notices.
func hangUp(db *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), hangUpWithin)
	defer cancel()
	_ = db.Close(ctx)
}

// execute runs one statement in Postgres.
func (r *Round) execute(ctx context.Context, sql string, args ...any) error {
	db, err := r.connect(ctx)
	if err != nil {
		return err
	}
	defer hangUp(db)
	if _, err := db.Exec(ctx, sql, args...); err != nil {
		return fmt.Errorf("cannot change postgres: %w", err)
	}
	return nil
}

// query reads one row of Postgres.
func (r *Round) query(ctx context.Context, sql string, args []any, into ...any) error {
	return r.reading(ctx, func(ctx context.Context, db *pgx.Conn) error { return db.QueryRow(ctx, sql, args...).Scan(into...) })
}

// count is query of one number.
func (r *Round) count(ctx context.Context, sql string, args ...any) (n int64, err error) {
	if err := r.query(ctx, sql, args, &n); err != nil {
		return 0, fmt.Errorf("cannot count in postgres: %w", err)
	}
	return n, nil
}

func (r *Round) reading(ctx context.Context, read func(ctx context.Context, db *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	db, err := r.connect(ctx)
	if err != nil {
		return err
	}
	defer hangUp(db)
	return read(ctx, db)
}
