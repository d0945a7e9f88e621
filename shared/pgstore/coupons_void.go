package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/shared/checkout"
	"sluice/shared/coupon"
	"sluice/shared/sale"
)

// VoidCoupon takes back a coupon that is issued, for good, and returns it; with a record in
// the audit log. *checkout.CouponError for what it is otherwise.
func (s *Store) VoidCoupon(ctx context.Context, by sale.Actor, id string) (voided coupon.Instance, err error) {
	err = s.inTx(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		voided, err = void(ctx, tx, by, id)
		return err
	})
	if err != nil {
		return coupon.Instance{}, fmt.Errorf("cannot void coupon %s: %w", id, err)
	}
	return voided, nil
}

func void(ctx context.Context, tx pgx.Tx, by sale.Actor, id string) (coupon.Instance, error) {
	unknown := &checkout.CouponError{CouponID: id, Why: checkout.WhyUnknown}
	if !isUUID(id) {
		return coupon.Instance{}, unknown
	}
	coupons, now, err := couponsThen(ctx, tx, scanCoupon, `SELECT `+couponColumns+` FROM coupons c WHERE c.id = $1::text::uuid FOR UPDATE`, id)
	if err != nil {
		return coupon.Instance{}, err
	}
	if len(coupons) == 0 {
		return coupon.Instance{}, unknown
	}
	after, happened, refusal := coupons[0].Void(now)
	if err := checkout.Refused(id, refusal); err != nil {
		return coupon.Instance{}, err
	}
	return after, writeVoid(ctx, tx, by, move(coupons[0], after, happened, refusal), now)
}

func writeVoid(ctx context.Context, tx pgx.Tx, by sale.Actor, m couponMove, now time.Time) error {
	if err := writeMoves(ctx, tx, []couponMove{m}, now); err != nil {
		return err
	}
	var saleID string
	if err := tx.QueryRow(ctx, `SELECT sale_id FROM coupons WHERE id = $1::text::uuid`, m.after.ID).Scan(&saleID); err != nil {
		return err
	}
	return record(ctx, tx, by, sale.ActionCouponVoid, saleID, m.after.ID, fields{"state": {m.before.State, m.after.State}})
}
