package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// Cancel cancels a pending order of this buyer in one transaction: it gives its
// unit back and, if the sale allows a second purchase, its slot, and has a release
// to apply. An order in another state keeps it. Cancel returns the order as it
// then is, and whether this call is what cancelled it; found is false when the
// order does not exist, is somebody else's or id is no rid.
func (s *Store) Cancel(ctx context.Context, userID, id string) (order sale.BuyerOrder, cancelled, found bool, err error) {
	order, found, err = s.OrderOf(ctx, userID, id)
	if err != nil || !found || order.State != sale.OrderPending {
		return order, false, found, err
	}
	err = s.inTx(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		l := &lettingGo{tx: tx, saleID: order.SaleID, becomes: sale.OrderCancelled}
		cancelled, err = l.cancel(ctx, id)
		return err
	})
	if err != nil {
		return sale.BuyerOrder{}, false, false, fmt.Errorf("cannot cancel order %s: %w", id, err)
	}
	order, found, err = s.OrderOf(ctx, userID, id)
	return order, cancelled, found, err
}

// cancel waits for whoever has the order in hand, and finds it closed then.
func (l *lettingGo) cancel(ctx context.Context, id string) (cancelled bool, err error) {
	if err := l.lock(ctx); err != nil {
		return false, err
	}
	closed, err := l.closeOrders(ctx, `SELECT $4::text::uuid AS id`, id)
	return closed > 0, err
}
