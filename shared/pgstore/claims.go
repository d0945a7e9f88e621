package pgstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// A claim is an order of a sale of coupons: amount 0, paid from birth, so that nothing
// ever lets go of it. With its row comes a coupon of the same id, whose snapshot is the
// template as it is then, and the template's count moves by as many:
//
//	orders ── coupons ── coupon_templates.issued ── sale_stock.held     one transaction
//
// A sale's total is at most its template's, in what a recovery brings back too (see
// adoptTemplate, raiseTemplate), and no other sale gives the template out. So
// a template that refuses tells of a bug, or of somebody's hand: what it refuses is
// surplus, and the sale is paused by the same transaction.

// insertCoupons makes coupons of the template $1, claimed in the sale $2. The snapshot is
// made once, not once a coupon.
const insertCoupons = `
	WITH template AS MATERIALIZED (
		SELECT template_id, terms || jsonb_build_object('kind', kind, 'value', value, 'min_amount', min_amount) AS snapshot,
			coalesce((terms ->> 'ends_at')::timestamptz, 'infinity') AS ends_at
		FROM coupon_templates WHERE template_id = $1
	)
	INSERT INTO coupons (id, template_id, sale_id, user_id, slot, snapshot, ends_at)
	SELECT r.id, t.template_id, $2, r.user_id, r.slot, t.snapshot, t.ends_at
	FROM unnest($3::uuid[], $4::text[], $5::smallint[]) AS r (id, user_id, slot) CROSS JOIN template t
	ORDER BY r.id`

// errTemplateRefuses has a batch decided alone: to pause a sale is to change its row, which
// every other order of it has locked.
var errTemplateRefuses = errors.New("the template has too few coupons left")

// bornAs is the state of a new row that holds a unit.
func bornAs(template string) sale.OrderState {
	if template != "" {
		return sale.OrderPaid
	}
	return sale.OrderPending
}

// orNull is NULL for the zero time.
func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// orderAlone decides a batch behind the closed gate, so that it may pause the sale.
func (s *Store) orderAlone(ctx context.Context, b Batch) (result Result, err error) {
	err = s.changeSale(ctx, b.SaleID, func(ctx context.Context, tx pgx.Tx) (err error) {
		result, err = (&decision{tx: tx, batch: b, alone: true}).whole(ctx)
		return err
	})
	return result, err
}

// issue makes the coupons of the rows inserted and counts them. It is false when the
// template refused and the batch is decided without it.
func (d *decision) issue(ctx context.Context) (granted bool, err error) {
	if d.template == "" {
		return true, nil
	}
	c := columnsOf(d.ordered)
	ids, _ := idsOf(c.rids) // the rows have them
	if _, err := d.tx.Exec(ctx, insertCoupons, d.template, d.batch.SaleID, ids, c.users, c.slots); err != nil {
		return false, fmt.Errorf("insert coupons: %w", err)
	}
	tag, err := d.tx.Exec(ctx, `UPDATE coupon_templates SET issued = issued + $2 WHERE template_id = $1 AND issued + $2 <= total`,
		d.template, len(ids))
	switch {
	case err != nil:
		return false, fmt.Errorf("count coupons: %w", err)
	case tag.RowsAffected() == 1:
		d.counted = int64(len(ids))
		return true, nil
	case !d.alone:
		return false, errTemplateRefuses
	}
	if err := d.rejectSurplus(ctx); err != nil {
		return false, err
	}
	return false, d.pause(ctx)
}

// couponsLeft locks the template and returns how many of the rows inserted it has room for.
func (d *decision) couponsLeft(ctx context.Context) (room int64, err error) {
	if d.template == "" {
		return math.MaxInt64, nil
	}
	err = d.tx.QueryRow(ctx, `SELECT total - issued FROM coupon_templates WHERE template_id = $1 FOR NO KEY UPDATE`, d.template).Scan(&room)
	if err != nil {
		return 0, fmt.Errorf("read what is left of the template: %w", err)
	}
	return room + d.counted, nil
}

// withdraw takes back the coupons of rows that become surplus, and counts those that stay.
func (d *decision) withdraw(ctx context.Context, surplus []sale.Reservation) error {
	if d.template == "" {
		return nil
	}
	if _, err := d.tx.Exec(ctx, `DELETE FROM coupons WHERE id = ANY ($1::text[]::uuid[])`, columnsOf(surplus).rids); err != nil {
		return fmt.Errorf("withdraw coupons: %w", err)
	}
	_, err := d.tx.Exec(ctx, `UPDATE coupon_templates SET issued = issued + $2 WHERE template_id = $1`,
		d.template, int64(len(d.ordered))-d.counted)
	if err != nil {
		return fmt.Errorf("count the coupons left: %w", err)
	}
	return nil
}

// fulfiller is who audit_log names for a pause that an order asked for.
const fulfiller = "worker"

// pause has nobody claim any more until a person has looked. A loop brings it to Redis.
func (d *decision) pause(ctx context.Context) error {
	tag, err := d.tx.Exec(ctx, `UPDATE sales SET paused = true, rev = rev + 1 WHERE sale_id = $1 AND NOT paused`, d.batch.SaleID)
	if err != nil || tag.RowsAffected() == 0 {
		return err
	}
	return record(ctx, d.tx, sale.Actor{Who: fulfiller}, sale.ActionPause, d.batch.SaleID, d.template, fields{"paused": {false, true}})
}
