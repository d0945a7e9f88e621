package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"sluice/shared/coupon"
)

// couponColumns are the columns scanCoupon expects of coupons c, in order.
const couponColumns = `c.id::text, c.template_id, c.user_id, c.slot, c.snapshot, c.state, c.cycle,
	coalesce(c.order_id, ''), c.locked_until, c.issued_at, c.changed_at`

func scanCoupon(row pgx.CollectableRow) (coupon.Instance, error) {
	var c coupon.Instance
	var until *time.Time
	err := row.Scan(&c.ID, &c.TemplateID, &c.UserID, &c.Slot, &c.Snapshot, &c.State, &c.Cycle,
		&c.OrderID, &until, &c.IssuedAt, &c.ChangedAt)
	c.LockedUntil, c.IssuedAt, c.ChangedAt = utc(until), c.IssuedAt.UTC(), c.ChangedAt.UTC()
	return c, err
}

// dueColumns are the columns scanDue expects of coupons c, in order: all that time needs
// to know of one. The others, who reads them has to understand, and one that nobody does
// must not keep all that are due from moving.
const dueColumns = `c.id::text, c.state, c.cycle, coalesce(c.order_id, ''), c.locked_until, nullif(c.ends_at, 'infinity')`

func scanDue(row pgx.CollectableRow) (coupon.Instance, error) {
	var c coupon.Instance
	var until, ends *time.Time
	err := row.Scan(&c.ID, &c.State, &c.Cycle, &c.OrderID, &until, &ends)
	c.LockedUntil, c.EndsAt = utc(until), utc(ends)
	return c, err
}

// couponsThen runs a query that locks coupons, and reads the moment at which it had them
// all: decisions are made as of then, for the locks may have been waited for.
func couponsThen(ctx context.Context, tx pgx.Tx, scan pgx.RowToFunc[coupon.Instance], sql string, args ...any) (coupons []coupon.Instance, now time.Time, err error) {
	statements := &pgx.Batch{} // one round trip
	statements.Queue(sql, args...).Query(func(rows pgx.Rows) (err error) {
		coupons, err = pgx.CollectRows(rows, scan)
		return err
	})
	statements.Queue(`SELECT clock_timestamp()`).QueryRow(func(row pgx.Row) error { return row.Scan(&now) })
	if err := tx.SendBatch(ctx, statements).Close(); err != nil {
		return nil, time.Time{}, fmt.Errorf("lock coupons: %w", err)
	}
	return coupons, now.UTC(), nil
}

// couponMove is a transition of a coupon that the transaction has locked.
type couponMove struct {
	before, after coupon.Instance
	happened      []coupon.Happened // nothing when it was refused
	refusal       coupon.Refusal
}

// move decides about a coupon: what a transition of it has returned.
func move(before, after coupon.Instance, happened []coupon.Happened, refusal coupon.Refusal) couponMove {
	return couponMove{before: before, after: after, happened: happened, refusal: refusal}
}

// writeMoves writes coupons, each from the state that was read to the one that was decided,
// and their events, as of now. Those that were refused are left alone.
func writeMoves(ctx context.Context, tx pgx.Tx, moves []couponMove, now time.Time) error {
	statements := &pgx.Batch{} // one round trip
	for _, m := range moves {
		if m.refusal == "" {
			m.queue(statements, now)
		}
	}
	if statements.Len() == 0 {
		return nil
	}
	if err := tx.SendBatch(ctx, statements).Close(); err != nil {
		return fmt.Errorf("move coupons: %w", err)
	}
	return nil
}

func (m couponMove) queue(statements *pgx.Batch, now time.Time) {
	var until *time.Time
	if m.after.State == coupon.StateLocked {
		until = &m.after.LockedUntil
	}
	statements.Queue(`
		UPDATE coupons SET state = $4, cycle = $5, order_id = nullif($6, ''), locked_until = $7, changed_at = $8
		WHERE id = $1::text::uuid AND state = $2 AND cycle = $3`,
		m.before.ID, m.before.State, m.before.Cycle, m.after.State, m.after.Cycle, m.after.OrderID, until, now,
	).Exec(func(tag pgconn.CommandTag) error {
		if tag.RowsAffected() != 1 {
			return errStartOver
		}
		return nil
	})
	for _, e := range m.happened {
		statements.Queue(`
			INSERT INTO coupon_events (coupon_id, cycle, event, order_id, at) VALUES ($1::text::uuid, $2, $3, $4, $5)`,
			m.before.ID, e.Cycle, e.Event, e.OrderID, now)
	}
}
