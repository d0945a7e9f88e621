package pgstore

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// orderColumns are the columns orderFields expects of orders o, in order.
const orderColumns = `o.id::text, o.sale_id, o.user_id, o.slot, o.idempotency_key, o.rank, o.accepted_at,
	o.amount, o.currency, o.state, o.shown_state, o.reason, o.holds_unit, o.holds_slot, o.created_at,
	coalesce(o.replaces::text, ''), o.expires_at`

// orderFields are the targets of orderColumns; payBy stands for a time that
// may be NULL.
func orderFields(o *sale.Order, payBy **time.Time) []any {
	return []any{
		&o.RID, &o.SaleID, &o.UserID, &o.Slot, &o.Key, &o.Rank, &o.AcceptedAt,
		&o.AmountMinor, &o.Currency, &o.State, &o.ShownState, &o.Reason, &o.HoldsUnit, &o.HoldsSlot, &o.CreatedAt,
		&o.Replaces, payBy,
	}
}

// setTimes puts the times of a scanned order into UTC.
func setTimes(o *sale.Order, payBy *time.Time) {
	o.AcceptedAt, o.CreatedAt, o.PayBy = o.AcceptedAt.UTC(), o.CreatedAt.UTC(), utc(payBy)
}

// utc is the time a nullable column held; zero for NULL.
func utc(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

func scanOrder(row pgx.CollectableRow) (sale.Order, error) {
	var o sale.Order
	var payBy *time.Time
	err := row.Scan(orderFields(&o, &payBy)...)
	setTimes(&o, payBy)
	return o, err
}

// ordersOfSale returns every row of a sale, by rid.
func ordersOfSale(ctx context.Context, tx pgx.Tx, saleID string) ([]sale.Order, error) {
	return collect(ctx, tx, scanOrder,
		`SELECT `+orderColumns+` FROM orders o WHERE o.sale_id = $1 ORDER BY o.id`, saleID)
}

// stock reads the units of a sale; ErrNoSale if there is no row.
func stock(ctx context.Context, tx pgx.Tx, saleID string) (total, held int64, err error) {
	err = tx.QueryRow(ctx, `SELECT total, held FROM sale_stock WHERE sale_id = $1`, saleID).Scan(&total, &held)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, 0, ErrNoSale
	}
	return total, held, err
}
