package history

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// State is what Postgres ended with.
type State struct {
	Sales       []Sale
	Orders      []Order // the oldest reservation first
	Releases    []Release
	Adjustments []Adjustment
	Payments    []Payment
	Owed        []Owed
}

// Sale is a sale's row with its stock.
type Sale struct {
	ID         string
	Configured int64 // units, as first loaded
	Total      int64 // units
	Held       int64
	Limit      int // orders that a user may hold
}

// Order is an order's row.
type Order struct {
	ID, Sale, User, Key string
	Slot                int
	State               string
	Reason              string // why it is rejected
	Amount              int64  // to pay, in minor units; 0 of a coupon
	HoldsUnit           bool
	HoldsSlot           bool
	Replaces            string // id of the order that this one was made instead of
}

// Release is the row of a ticket that was closed.
type Release struct {
	RID, Sale, Status string
	Give              int // units that went back
}

// Adjustment is the row of a change of stock by an operator.
type Adjustment struct {
	ID, Sale string
	Delta    int64
	State    string
}

// Payment is the row of an event of the payment provider.
type Payment struct {
	ID, Type, Order string
	Amount          int64 // minor units
	Result          string
}

// Owed is the row of a payment that is to be refunded.
type Owed struct {
	Payment, Order string
	Settled        bool
}

// ReadState reads all rows of the named sales, as of one moment. Payments and refunds
// owed are all there are.
func ReadState(ctx context.Context, db *pgx.Conn, sales []string) (s State, err error) {
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, db, options, func(tx pgx.Tx) error {
		r := reader{ctx, tx, sales}
		if s.Sales, err = rows[Sale](r, `
			SELECT s.sale_id, s.total, k.total, k.held, s.per_user_limit
			FROM sales s JOIN sale_stock k USING (sale_id) WHERE s.sale_id = ANY($1)`); err != nil {
			return err
		}
		if s.Orders, err = rows[Order](r, `
			SELECT id::text, sale_id, user_id, idempotency_key, slot, state, reason, amount, holds_unit, holds_slot, coalesce(replaces::text, '')
			FROM orders WHERE sale_id = ANY($1) ORDER BY id`); err != nil {
			return err
		}
		if s.Releases, err = rows[Release](r, `
			SELECT rid::text, sale_id, status, give FROM releases WHERE sale_id = ANY($1)`); err != nil {
			return err
		}
		if s.Adjustments, err = rows[Adjustment](r, `
			SELECT id, sale_id, delta, state FROM stock_adjustments WHERE sale_id = ANY($1)`); err != nil {
			return err
		}
		if s.Payments, err = rows[Payment](r, `
			SELECT event_id, type, order_id::text, amount, result FROM payments WHERE $1::text[] IS NOT NULL`); err != nil {
			return err
		}
		s.Owed, err = rows[Owed](r, `
			SELECT event_id, order_id::text, settled_at IS NOT NULL FROM refunds_owed WHERE $1::text[] IS NOT NULL`)
		return err
	})
	if err != nil {
		return State{}, fmt.Errorf("cannot read what postgres ended with: %w", err)
	}
	return s, nil
}

type reader struct {
	ctx   context.Context
	tx    pgx.Tx
	sales []string
}

// rows reads every row into the members of T, in their order.
func rows[T any](r reader, sql string) ([]T, error) {
	found, err := r.tx.Query(r.ctx, sql, r.sales)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, pgx.RowToStructByPos[T])
}
