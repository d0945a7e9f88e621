package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// rawBatch is as many rows as the worker puts into a batch at most.
const rawBatch = 500

// orderRow is what differs between the rows of one sale's orders.
type orderRow struct {
	ID         [16]byte
	UserID     string
	Slot       int16
	Rank       int64
	AcceptedAt time.Time
	ExpiresAt  time.Time
}

// copyOrders makes a table like orders, with its indexes and constraints.
func (b *bench) copyOrders(ctx context.Context) error {
	return b.exec(ctx, `
		CREATE SCHEMA bench;
		CREATE TABLE bench.orders (LIKE orders INCLUDING ALL)`)
}

// rawInserts inserts the rows that the worker has just made once more, into a copy
// of the table that holds what the table held before: most of them in batches,
// then the rest one a transaction, each over one connection, like the worker's.
func (b *bench) rawInserts(ctx context.Context, saleID string, f figures) error {
	if err := b.exec(ctx, `TRUNCATE bench.orders`); err != nil {
		return err
	}
	if err := b.exec(ctx, `INSERT INTO bench.orders SELECT * FROM orders WHERE sale_id <> $1`, saleID); err != nil {
		return err
	}
	rows, err := b.orderRows(ctx, saleID)
	if err != nil {
		return err
	}
	batched := len(rows) * 3 / 4
	before, err := familyTime(b.Stack.Postgres.PID)
	if err != nil {
		return err
	}
	rate, err := b.insertBatches(ctx, saleID, rows[:batched])
	if err != nil {
		return err
	}
	after, err := familyTime(b.Stack.Postgres.PID)
	if err != nil {
		return err
	}
	processTimes{"postgres": after}.since(processTimes{"postgres": before}, batched, rawBatchName, f)
	b.took(rawBatchName, rate, f)
	if rate, err = b.insertOneByOne(ctx, saleID, rows[batched:]); err != nil {
		return err
	}
	b.took(onePerTxName, rate, f)
	return nil
}

func (b *bench) exec(ctx context.Context, sql string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	if _, err := b.db.Exec(ctx, sql, args...); err != nil {
		return fmt.Errorf("cannot prepare copy of orders: %w", err)
	}
	return nil
}

func (b *bench) orderRows(ctx context.Context, saleID string) ([]orderRow, error) {
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	found, err := b.db.Query(ctx, `
		SELECT id, user_id, slot, rank, accepted_at, expires_at FROM orders WHERE sale_id = $1 ORDER BY rank`, saleID)
	if err != nil {
		return nil, fmt.Errorf("cannot read orders of sale %s: %w", saleID, err)
	}
	rows, err := pgx.CollectRows(found, pgx.RowToStructByPos[orderRow])
	if err != nil {
		return nil, fmt.Errorf("cannot read orders of sale %s: %w", saleID, err)
	}
	return rows, nil
}

// insertBatches inserts up to rawBatch rows in a statement and transaction, and
// returns rows a second.
func (b *bench) insertBatches(ctx context.Context, saleID string, rows []orderRow) (float64, error) {
	began := time.Now()
	for at := 0; at < len(rows); at += rawBatch {
		if err := b.insertBatch(ctx, saleID, rows[at:min(at+rawBatch, len(rows))]); err != nil {
			return 0, fmt.Errorf("cannot insert batch: %w", err)
		}
	}
	return float64(len(rows)) / time.Since(began).Seconds(), nil
}

func (b *bench) insertBatch(ctx context.Context, saleID string, rows []orderRow) error {
	n := len(rows)
	ids, users, slots := make([][16]byte, n), make([]string, n), make([]int16, n)
	ranks, accepted, expires := make([]int64, n), make([]time.Time, n), make([]time.Time, n)
	for i, r := range rows {
		ids[i], users[i], slots[i], ranks[i], accepted[i], expires[i] = r.ID, r.UserID, r.Slot, r.Rank, r.AcceptedAt, r.ExpiresAt
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	_, err := b.db.Exec(ctx, `
		INSERT INTO bench.orders (id, sale_id, user_id, slot, idempotency_key, rank, accepted_at, amount, currency,
			state, shown_state, holds_unit, holds_slot, expires_at)
		SELECT r.id, $1, r.user_id, r.slot, '', r.rank, r.accepted_at, 100, 'CNY', 'pending', 'pending', true, true, r.expires_at
		FROM unnest($2::uuid[], $3::text[], $4::smallint[], $5::bigint[], $6::timestamptz[], $7::timestamptz[])
			AS r (id, user_id, slot, rank, accepted_at, expires_at)`,
		saleID, ids, users, slots, ranks, accepted, expires)
	return err
}

// insertOneByOne inserts one row in a transaction, until there are no more or the
// time of a measurement is over, and returns rows a second.
func (b *bench) insertOneByOne(ctx context.Context, saleID string, rows []orderRow) (float64, error) {
	began := time.Now()
	inserted := 0
	for _, r := range rows {
		if err := b.insertOne(ctx, saleID, r); err != nil {
			return 0, fmt.Errorf("cannot insert row: %w", err)
		}
		if inserted++; time.Since(began) > b.Stage {
			break
		}
	}
	return float64(inserted) / time.Since(began).Seconds(), nil
}

func (b *bench) insertOne(ctx context.Context, saleID string, r orderRow) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	_, err := b.db.Exec(ctx, `
		INSERT INTO bench.orders (id, sale_id, user_id, slot, idempotency_key, rank, accepted_at, amount, currency,
			state, shown_state, holds_unit, holds_slot, expires_at)
		VALUES ($1, $2, $3, $4, '', $5, $6, 100, 'CNY', 'pending', 'pending', true, true, $7)`,
		r.ID, saleID, r.UserID, r.Slot, r.Rank, r.AcceptedAt, r.ExpiresAt)
	return err
}
