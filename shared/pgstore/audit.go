package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// AuditSale reads a sale for an audit. It takes as long as the context allows.
// ErrNoSale if there is none.
func (s *Store) AuditSale(ctx context.Context, saleID string) (sale.AuditRows, error) {
	var rows sale.AuditRows
	err := s.snapshotTx(ctx, func(tx pgx.Tx) (err error) {
		rows.Entry, err = oneEntry(ctx, tx, `SELECT `+entryColumns+` FROM sales WHERE sale_id = $1`, saleID)
		if err != nil {
			return err
		}
		if rows.Total, rows.Held, err = stock(ctx, tx, saleID); err != nil {
			return err
		}
		if rows.Orders, err = ordersOfSale(ctx, tx, saleID); err != nil {
			return err
		}
		if rows.Releases, err = releasesOfSale(ctx, tx, saleID); err != nil {
			return err
		}
		if rows.Adjustments, err = adjustments(ctx, tx, `WHERE sale_id = $1 ORDER BY id`, saleID); err != nil {
			return err
		}
		if rows.Payments, rows.RefundsOwed, err = paymentsOfSale(ctx, tx, saleID); err != nil {
			return err
		}
		rows.Rowless, err = collect(ctx, tx, pgx.RowTo[string], `SELECT rid::text FROM dead_letters WHERE sale_id = $1 AND rid IS NOT NULL ORDER BY rid`, saleID)
		if err != nil {
			return err
		}
		return tx.QueryRow(ctx, `SELECT count(*) FROM releases WHERE sale_id = $1 AND applied_at IS NULL`,
			saleID).Scan(&rows.Unapplied)
	})
	if err != nil {
		return sale.AuditRows{}, fmt.Errorf("cannot read sale %s for an audit: %w", saleID, err)
	}
	return rows, nil
}

func releasesOfSale(ctx context.Context, tx pgx.Tx, saleID string) ([]sale.Release, error) {
	scan := func(row pgx.CollectableRow) (sale.Release, error) {
		var r sale.Release
		err := row.Scan(releaseFields(&r)...)
		return r, err
	}
	return collect(ctx, tx, scan, `SELECT `+releaseColumns+` FROM releases r WHERE r.sale_id = $1 ORDER BY r.rid`, saleID)
}

// PaymentsAstray returns payment events that had an effect on an order or reservation of no
// sale, by their ids, at most limit: what is applied is about something that is kept. It
// takes as long as the context allows.
func (s *Store) PaymentsAstray(ctx context.Context, limit int) (astray []sale.Payment, err error) {
	err = s.snapshotTx(ctx, func(tx pgx.Tx) (err error) {
		astray, err = collect(ctx, tx, scanPayment, `
			SELECT `+paymentColumns+` FROM payments p
			WHERE p.result NOT IN ('', 'noted') AND NOT EXISTS (SELECT FROM orders o WHERE o.id = p.order_id)
				AND NOT EXISTS (SELECT FROM releases r WHERE r.rid = p.order_id)
			ORDER BY p.event_id LIMIT $1`, limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot look for payments of no order: %w", err)
	}
	return astray, nil
}

func paymentsOfSale(ctx context.Context, tx pgx.Tx, saleID string) (payments []sale.Payment, owed []sale.RefundOwed, err error) {
	const ofSale = ` IN (SELECT id FROM orders WHERE sale_id = $1 UNION SELECT rid FROM releases WHERE sale_id = $1)`
	payments, err = collect(ctx, tx, scanPayment, `SELECT `+paymentColumns+` FROM payments p WHERE p.order_id`+ofSale+` ORDER BY p.event_id`, saleID)
	if err != nil {
		return nil, nil, err
	}
	owed, err = collect(ctx, tx, scanOwed, `SELECT `+owedColumns+` FROM refunds_owed w WHERE w.order_id`+ofSale+` ORDER BY w.event_id`, saleID)
	return payments, owed, err
}
