package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// unpaid is of orders o: no payment of theirs, or of the order that they replace, waits to
// be applied. One that is stored a moment later finds the order expired, and is late.
var unpaid = noneWaits("o.id") + ` AND ` + noneWaits("o.replaces")

// noneWaits says that no payment of the order in that column waits to be applied. OFFSET 0
// has Postgres look in the index for each order by itself: it would join all orders with
// all payments that wait, because it takes those for one or two, as they were when it last
// counted. That is two look-ups for each overdue order that the statement comes by, before
// it locks any: while 10,000 wait for their payments to be applied, 20,000 each time.
func noneWaits(column string) string {
	return `NOT EXISTS (
	SELECT FROM payments p
	WHERE p.order_id = ` + column + ` AND p.applied_at IS NULL AND p.type = 'payment.succeeded' OFFSET 0
)`
}

// toExpire are the longest overdue orders of a sale.
var toExpire = `
	SELECT id FROM orders o
	WHERE sale_id = $1 AND state = 'pending' AND expires_at <= now() AND ` + unpaid + `
	ORDER BY expires_at LIMIT $4 FOR UPDATE SKIP LOCKED`

var dueSales = `
	SELECT s.sale_id FROM sales s
	WHERE NOT s.rebuilding AND s.forgotten_at IS NULL AND EXISTS (
		SELECT FROM orders o WHERE o.sale_id = s.sale_id AND o.state = 'pending' AND o.expires_at <= now() AND ` + unpaid + `
	)
	ORDER BY s.sale_id`

// DueSales returns the sales with pending orders whose time to pay is over by the
// database's clock, sorted. Sales in rebuild are left alone.
func (s *Store) DueSales(ctx context.Context) ([]string, error) {
	due, err := read(ctx, s, pgx.RowTo[string], dueSales)
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
	return l.closeOrders(ctx, toExpire, limit)
}
