package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// Holdings reads what the sale's rows say, as of one moment; ErrNoSale if there is
// none. A payment event is stuck when it is not applied stuckAfter after it came. It counts
// the rows of the sale, for as long as the context allows.
func (s *Store) Holdings(ctx context.Context, saleID string, stuckAfter time.Duration) (sale.Holdings, error) {
	var h sale.Holdings
	var age *time.Duration
	var unshown *string
	err := s.snapshotTx(ctx, func(tx pgx.Tx) (err error) {
		if h.Entry, err = oneEntry(ctx, tx, `SELECT `+entryColumns+` FROM sales WHERE sale_id = $1`, saleID); err != nil {
			return err
		}
		if h.Total, h.Held, err = stock(ctx, tx, saleID); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `
			SELECT o.*, r.*, (SELECT count(*) FROM dead_letters WHERE sale_id = $1 AND state = 'open'),
				(SELECT count(*) FROM refunds_owed p WHERE settled_at IS NULL AND `+payingForSale+`),
				(SELECT count(*) FROM payments p WHERE applied_at IS NULL AND received_at <= now() - $2::interval AND `+payingForSale+`)
			FROM (
				SELECT count(*), count(*) FILTER (WHERE holds_unit),
					count(*) FILTER (WHERE shown_state <> state AND state IN ('pending', 'paid')),
					min(id::text) FILTER (WHERE shown_state <> state AND state IN ('pending', 'paid')),
					count(*) FILTER (WHERE reason = 'surplus')
				FROM orders WHERE sale_id = $1
			) o, (
				SELECT count(*), count(*) FILTER (WHERE applied_at IS NULL), now() - min(created_at) FILTER (WHERE applied_at IS NULL)
				FROM releases WHERE sale_id = $1
			) r`, saleID, stuckAfter).
			Scan(&h.Orders, &h.Holding, &h.Unshown, &unshown, &h.Surplus, &h.Releases, &h.Unapplied, &age, &h.DeadLetters,
				&h.RefundsOwed, &h.PaymentsStuck)
	})
	if err != nil {
		return sale.Holdings{}, fmt.Errorf("cannot read holdings of sale %s: %w", saleID, err)
	}
	if age != nil {
		h.OldestUnapplied = *age
	}
	if unshown != nil {
		h.OldestUnshown = *unshown
	}
	return h, nil
}
