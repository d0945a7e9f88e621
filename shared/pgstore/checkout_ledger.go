package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"sluice/shared/checkout"
)

var ledgerColumns = []string{"coupon_id", "cycle", "user_id", "order_id", "part", "part_id", "party", "amount", "currency", "event", "refund_id", "at"}

// post writes rows of the ledger. cycles are those in which the discounts were given.
func (c *checkingOut) post(ctx context.Context, rows []checkout.LedgerRow, currency string, cycles map[string]int64, refundID string) error {
	_, err := c.tx.CopyFrom(ctx, pgx.Identifier{"coupon_ledger"}, ledgerColumns, pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) {
		r := rows[i]
		part := "line"
		if r.Parcel {
			part = "parcel"
		}
		return []any{r.CouponID, cycles[r.CouponID], c.order.UserID, c.order.OrderID, part, r.PartID, r.Party,
			r.AmountMinor, currency, string(r.Event), refundID, c.now}, nil
	}))
	if err != nil {
		return fmt.Errorf("write ledger: %w", err)
	}
	return nil
}
