package orderrows

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/wait"
	"sluice/shared/sale"
)

const (
	connectTimeout = 10 * time.Second // closing too
	drainPatience  = 5 * time.Minute  // of one sale
	lookEvery      = 20 * time.Millisecond
)

// Open connects to the database.
func Open(ctx context.Context, url string) (Table, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	db, err := pgx.Connect(ctx, url)
	if err != nil {
		return Table{}, fmt.Errorf("cannot connect to postgres: %w", err)
	}
	return Table{DB: db}, nil
}

// Close ends the connection.
func (t Table) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	if err := t.DB.Close(ctx); err != nil {
		return fmt.Errorf("cannot close connection to postgres: %w", err)
	}
	return nil
}

// Settled waits until every reservation of a sale has its outcome.
func Settled(ctx context.Context, stores *collect.Stores, saleID string) error {
	ctx, cancel := context.WithTimeout(ctx, drainPatience)
	defer cancel()
	entry, err := stores.Postgres.Entry(ctx, saleID)
	if err != nil {
		return err
	}
	for {
		snap, handOff, err := stores.Redis.Snapshot(ctx, saleID, entry.Epoch)
		if err == nil && handOff.Count == 0 && snap.Served >= snap.Rank {
			return nil
		}
		if !wait.For(ctx, lookEvery) {
			return fmt.Errorf("sale %s is not settled: %d of %d reservations, %d in hand-off: %w", saleID, snap.Served, snap.Rank, handOff.Count, errors.Join(err, ctx.Err()))
		}
	}
}

// Count is how many orders of a sale are in a state.
func (t Table) Count(ctx context.Context, saleID, state string) (n int, err error) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	if err := t.DB.QueryRow(ctx, `SELECT count(*) FROM orders WHERE sale_id = $1 AND state = $2`, saleID, state).Scan(&n); err != nil {
		return 0, fmt.Errorf("cannot count orders of sale %s: %w", saleID, err)
	}
	return n, nil
}

// Answers are what the attempts of a sale were answered. One that was not answered 202 may
// have its order all the same.
type Answers struct{ Accepted, Others int }

// Judge holds the orders of a settled sale, in which a user attempts once, against what was
// answered.
func (t Table) Judge(ctx context.Context, saleID string, told Answers) ([]sale.Violation, error) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	var orders, doubles, holding, held int
	err := t.DB.QueryRow(ctx, `
		SELECT coalesce(sum(n), 0)::bigint, coalesce(sum(n - 1), 0)::bigint, coalesce(sum(holding), 0)::bigint, (SELECT held FROM sale_stock WHERE sale_id = $1)
		FROM (SELECT count(*) AS n, count(*) FILTER (WHERE holds_unit) AS holding FROM orders WHERE sale_id = $1 AND state <> 'rejected' GROUP BY user_id) AS by_user`,
		saleID).Scan(&orders, &doubles, &holding, &held)
	if err != nil {
		return nil, fmt.Errorf("cannot count orders of sale %s: %w", saleID, err)
	}
	var all []sale.Violation
	check := func(holds bool, invariant, format string, args ...any) {
		if !holds {
			all = append(all, sale.Violation{Invariant: invariant, Detail: "sale " + saleID + ": " + fmt.Sprintf(format, args...)})
		}
	}
	check(orders >= told.Accepted, "I3", "%d orders, %d attempts were answered 202", orders, told.Accepted)
	check(orders <= told.Accepted+told.Others, "I6", "%d orders, %d attempts were answered 202 and %d otherwise", orders, told.Accepted, told.Others)
	check(doubles == 0, "I2", "%d orders are beyond the one that a user may have", doubles)
	check(held == holding, "I4", "%d orders hold a unit, the stock says %d", holding, held)
	return all, nil
}
