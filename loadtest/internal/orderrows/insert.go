package orderrows

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// MaxBatch is as many rows as the worker puts into a batch at most.
const MaxBatch = 512

// Row is what differs between the rows of one sale's orders.
type Row struct {
	ID         [16]byte
	UserID     string
	Slot       int16
	Rank       int64
	AcceptedAt time.Time
	ExpiresAt  time.Time
}

// MakeCopy makes a table like orders, with its indexes and constraints.
func (t Table) MakeCopy(ctx context.Context) error {
	return t.exec(ctx, `
		CREATE SCHEMA bench;
		CREATE TABLE bench.orders (LIKE orders INCLUDING ALL)`)
}

// FillCopy makes the copy hold what the table held before a sale's orders.
func (t Table) FillCopy(ctx context.Context, saleID string) error {
	if err := t.exec(ctx, `TRUNCATE bench.orders`); err != nil {
		return err
	}
	return t.exec(ctx, `INSERT INTO bench.orders SELECT * FROM orders WHERE sale_id <> $1`, saleID)
}

func (t Table) exec(ctx context.Context, sql string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	if _, err := t.DB.Exec(ctx, sql, args...); err != nil {
		return fmt.Errorf("cannot prepare copy of orders: %w", err)
	}
	return nil
}

// Rows are the rows of a sale's orders, by rank.
func (t Table) Rows(ctx context.Context, saleID string) ([]Row, error) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	found, err := t.DB.Query(ctx, `
		SELECT id, user_id, slot, rank, accepted_at, expires_at FROM orders WHERE sale_id = $1 ORDER BY rank`, saleID)
	if err != nil {
		return nil, fmt.Errorf("cannot read orders of sale %s: %w", saleID, err)
	}
	rows, err := pgx.CollectRows(found, pgx.RowToStructByPos[Row])
	if err != nil {
		return nil, fmt.Errorf("cannot read orders of sale %s: %w", saleID, err)
	}
	return rows, nil
}

// InsertBatches inserts up to MaxBatch rows in a statement and transaction into the copy, and
// returns rows a second.
func (t Table) InsertBatches(ctx context.Context, saleID string, rows []Row) (float64, error) {
	began := time.Now()
	for at := 0; at < len(rows); at += MaxBatch {
		if err := t.insertBatch(ctx, saleID, rows[at:min(at+MaxBatch, len(rows))]); err != nil {
			return 0, fmt.Errorf("cannot insert batch: %w", err)
		}
	}
	return float64(len(rows)) / time.Since(began).Seconds(), nil
}

func (t Table) insertBatch(ctx context.Context, saleID string, rows []Row) error {
	n := len(rows)
	ids, users, slots := make([][16]byte, n), make([]string, n), make([]int16, n)
	ranks, accepted, expires := make([]int64, n), make([]time.Time, n), make([]time.Time, n)
	for i, r := range rows {
		ids[i], users[i], slots[i], ranks[i], accepted[i], expires[i] = r.ID, r.UserID, r.Slot, r.Rank, r.AcceptedAt, r.ExpiresAt
	}
	ctx, cancel := context.WithTimeout(ctx, insertTimeout)
	defer cancel()
	_, err := t.DB.Exec(ctx, `
		INSERT INTO bench.orders (id, sale_id, user_id, slot, idempotency_key, rank, accepted_at, amount, currency,
			state, shown_state, holds_unit, holds_slot, expires_at)
		SELECT r.id, $1, r.user_id, r.slot, '', r.rank, r.accepted_at, 100, 'CNY', 'pending', 'pending', true, true, r.expires_at
		FROM unnest($2::uuid[], $3::text[], $4::smallint[], $5::bigint[], $6::timestamptz[], $7::timestamptz[])
			AS r (id, user_id, slot, rank, accepted_at, expires_at)`,
		saleID, ids, users, slots, ranks, accepted, expires)
	return err
}

// InsertOneByOne inserts one row in a transaction, until there are no more or a time
// is over, and returns rows a second.
func (t Table) InsertOneByOne(ctx context.Context, saleID string, rows []Row, most time.Duration) (float64, error) {
	began := time.Now()
	inserted := 0
	for _, r := range rows {
		if err := t.insertOne(ctx, saleID, r); err != nil {
			return 0, fmt.Errorf("cannot insert row: %w", err)
		}
		if inserted++; time.Since(began) > most {
			break
		}
	}
	return float64(inserted) / time.Since(began).Seconds(), nil
}

func (t Table) insertOne(ctx context.Context, saleID string, r Row) error {
	ctx, cancel := context.WithTimeout(ctx, insertTimeout)
	defer cancel()
	_, err := t.DB.Exec(ctx, `
		INSERT INTO bench.orders (id, sale_id, user_id, slot, idempotency_key, rank, accepted_at, amount, currency,
			state, shown_state, holds_unit, holds_slot, expires_at)
		VALUES ($1, $2, $3, $4, '', $5, $6, 100, 'CNY', 'pending', 'pending', true, true, $7)`,
		r.ID, saleID, r.UserID, r.Slot, r.Rank, r.AcceptedAt, r.ExpiresAt)
	return err
}
