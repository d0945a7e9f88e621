package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// OrdersOf returns the newest orders of a buyer, rejected ones too.
func (s *Store) OrdersOf(ctx context.Context, userID string, limit int) ([]sale.BuyerOrder, error) {
	orders, err := read(ctx, s, scanBuyerOrder, `
		SELECT `+orderColumns+`, s.sku
		FROM orders o JOIN sales s ON s.sale_id = o.sale_id
		WHERE o.user_id = $1 ORDER BY o.id DESC LIMIT $2`, userID, limit)
	if err != nil {
		return nil, fmt.Errorf("cannot read orders of a buyer: %w", err)
	}
	return orders, nil
}

// OrderOf returns an order of this buyer; found is false when it does not
// exist, is somebody else's or id is no rid.
func (s *Store) OrderOf(ctx context.Context, userID, id string) (order sale.BuyerOrder, found bool, err error) {
	if !isRID(id) {
		return sale.BuyerOrder{}, false, nil
	}
	orders, err := read(ctx, s, scanBuyerOrder, `
		SELECT `+orderColumns+`, s.sku
		FROM orders o JOIN sales s ON s.sale_id = o.sale_id
		WHERE o.id = $1::text::uuid AND o.user_id = $2`, id, userID)
	if err != nil {
		return sale.BuyerOrder{}, false, fmt.Errorf("cannot read order %s: %w", id, err)
	}
	if len(orders) == 0 {
		return sale.BuyerOrder{}, false, nil
	}
	return orders[0], true, nil
}

func scanBuyerOrder(row pgx.CollectableRow) (sale.BuyerOrder, error) {
	var o sale.BuyerOrder
	var payBy *time.Time
	err := row.Scan(append(orderFields(&o.Order, &payBy), &o.SKU)...)
	setTimes(&o.Order, payBy)
	return o, err
}
