package pgstore

import (
	"context"
	"fmt"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/shared/coupon"
)

// LedgerSums returns what parties bear of discounts, from one instant until before
// another, by day, party and currency in ascending order; at most limit sums. It takes as
// long as the context allows.
func (s *Store) LedgerSums(ctx context.Context, from, to time.Time, limit int) (sums []coupon.LedgerSum, err error) {
	err = s.snapshotTx(ctx, func(tx pgx.Tx) (err error) {
		sums, err = collect(ctx, tx, scanLedgerSum, ledgerSums, from, to, limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot sum the ledger: %w", err)
	}
	return sums, nil
}

const ledgerSums = `
	SELECT (at AT TIME ZONE 'UTC')::date AS day, party, currency,
		coalesce(sum(amount) FILTER (WHERE event <> 'refund'), 0)::text,
		coalesce(sum(amount) FILTER (WHERE event = 'honour'), 0)::text,
		coalesce(-sum(amount) FILTER (WHERE event = 'refund'), 0)::text
	FROM coupon_ledger WHERE at >= $1 AND at < $2
	GROUP BY day, party, currency ORDER BY day, party, currency COLLATE "C" LIMIT $3`

func scanLedgerSum(row pgx.CollectableRow) (coupon.LedgerSum, error) {
	sum := coupon.LedgerSum{Given: new(big.Int), Honoured: new(big.Int), Reversed: new(big.Int)}
	amounts := []*big.Int{sum.Given, sum.Honoured, sum.Reversed}
	texts := make([]string, len(amounts)) // bigints add up to more than one holds
	if err := row.Scan(&sum.Day, &sum.Party, &sum.Currency, &texts[0], &texts[1], &texts[2]); err != nil {
		return sum, err
	}
	for i, text := range texts {
		if _, ok := amounts[i].SetString(text, 10); !ok {
			return sum, fmt.Errorf("%q is no amount", text)
		}
	}
	return sum, nil
}
