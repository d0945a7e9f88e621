package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// unpaid is of orders o: no payment of theirs waits to be applied. One that is stored
// a moment later finds the order expired, and is late.
const unpaid = `NOT EXISTS (
	SELECT FROM payments p
	WHERE p.order_id IN (o.id, o.replaces) AND p.applied_at IS NULL AND p.type = 'payment.succeeded')`

// DueSales returns the sales with pending orders whose time to pay is over by the
// database's clock, sorted. Sales in rebuild are left alone.
func (s *Store) DueSales(ctx context.Context) ([]string, error) {
	due, err := read(ctx, s, pgx.RowTo[string], `
		SELECT s.sale_id FROM sales s
		WHERE NOT s.rebuilding AND s.forgotten_at IS NULL AND EXISTS (
			SELECT FROM orders o WHERE o.sale_id = s.sale_id AND o.state = 'pending' AND o.expires_at <= now() AND `+unpaid+`
		)
		ORDER BY s.sale_id`)
	if err != nil {
		return nil, fmt.Errorf("cannot read sales with orders to expire: %w", err)
	}
	return due, nil
}

// Expire expires the longest overdue orders of a sale, at most limit, in one
// transaction, and returns how many. Each gives its unit back and, if the sale
// allows a second purchase, its slot, and has a release to apply. Orders that
// another transaction has in hand are passed over, so any number of workers may
// call it at once: each takes what the others do not. So are those that are paid,
// as far as Postgres knows, and only have to be told so.
//
// ErrNoSale if there is no sale.
func (s *Store) Expire(ctx context.Context, saleID string, limit int) (expired int64, err error) {
	err = s.inTx(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		l := &lettingGo{tx: tx, saleID: saleID, becomes: sale.OrderExpired}
		expired, err = l.expire(ctx, limit)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("cannot expire orders of sale %s: %w", saleID, err)
	}
	return expired, nil
}

func (l *lettingGo) expire(ctx context.Context, limit int) (expired int64, err error) {
	if err := l.lock(ctx); err != nil {
		return 0, err
	}
	return l.closeOrders(ctx, `
		SELECT id FROM orders o
		WHERE sale_id = $1 AND state = 'pending' AND expires_at <= now() AND `+unpaid+`
		ORDER BY expires_at LIMIT $4 FOR UPDATE SKIP LOCKED`, limit)
}
