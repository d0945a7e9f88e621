package pgstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// lettingGo is a transaction that closes pending orders of one sale. It takes the
// locks in the store's order: gate, sales, orders, sale_stock.
type lettingGo struct {
	tx      pgx.Tx
	saleID  string
	keeps   bool            // the sale allows no second purchase: a closed order keeps its slot
	becomes sale.OrderState // expired or cancelled
}

// lock passes the gate and keeps the sale as it is until the commit. It asks for
// no epoch: the release is applied at whichever is current then. ErrNoSale if
// there is no sale.
func (l *lettingGo) lock(ctx context.Context) error {
	statements := &pgx.Batch{} // one round trip
	statements.Queue(passGate, l.saleID)
	statements.Queue(`SELECT NOT rebuy_after_release FROM sales WHERE sale_id = $1 FOR SHARE`, l.saleID).
		QueryRow(func(row pgx.Row) error { return row.Scan(&l.keeps) })
	err := l.tx.SendBatch(ctx, statements).Close()
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return ErrNoSale
	case err != nil:
		return fmt.Errorf("lock sale: %w", err)
	}
	return nil
}

// closeOrders closes those orders that the query chosen selects by id and that are
// still pending, each with its release, and returns how many. The query's first
// parameter is $4.
func (l *lettingGo) closeOrders(ctx context.Context, chosen string, args ...any) (closed int64, err error) {
	tag, err := l.tx.Exec(ctx, `
		WITH chosen AS (`+chosen+`), closed AS (
			UPDATE orders o SET state = $2, shown_state = $2, holds_unit = false, holds_slot = $3
			FROM chosen WHERE o.id = chosen.id AND o.state = 'pending'
			RETURNING o.id
		)
		INSERT INTO releases (rid, sale_id, status, reason, give)
		SELECT id, $1, $2, '', 1 FROM closed`,
		append([]any{l.saleID, string(l.becomes), l.keeps}, args...)...)
	if err != nil {
		return 0, fmt.Errorf("close orders: %w", err)
	}
	return tag.RowsAffected(), l.giveBack(ctx, tag.RowsAffected())
}

// giveBack makes the units of n closed orders free. The stock row, which every
// batch of the sale needs, comes last and is held for the commit alone.
func (l *lettingGo) giveBack(ctx context.Context, n int64) error {
	if n == 0 {
		return nil
	}
	tag, err := l.tx.Exec(ctx, `UPDATE sale_stock SET held = held - $2 WHERE sale_id = $1`, l.saleID, n)
	if err != nil {
		return fmt.Errorf("give back units: %w", err)
	}
	if tag.RowsAffected() != 1 {
		return ErrNoSale
	}
	return nil
}
