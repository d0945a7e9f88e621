package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/shared/coupon"
)

// mostUsable bounds the coupons of one buyer that a quote is made of.
const mostUsable = 1_000

// CouponsOf returns the coupons of a buyer, newest first, at most limit.
func (s *Store) CouponsOf(ctx context.Context, userID string, limit int) ([]coupon.Instance, error) {
	coupons, err := read(ctx, s, scanCoupon, `
		SELECT `+couponColumns+` FROM coupons c WHERE c.user_id = $1 ORDER BY c.id DESC LIMIT $2`, userID, limit)
	if err != nil {
		return nil, fmt.Errorf("cannot read coupons: %w", err)
	}
	return coupons, nil
}

// UsableCoupons returns the coupons of a buyer that an order could lock now, and Postgres'
// time, now. Of more than 1,000 it returns those that end first after the moment at; zero
// is now.
func (s *Store) UsableCoupons(ctx context.Context, userID string, at time.Time) (usable []coupon.Instance, now time.Time, err error) {
	var wanted *time.Time
	if !at.IsZero() {
		wanted = &at
	}
	ctx, cancel := context.WithTimeout(ctx, s.callTimeout)
	defer cancel()
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { // in which now() is one moment
		if err := tx.QueryRow(ctx, `SELECT now()`).Scan(&now); err != nil {
			return err
		}
		usable, err = collect(ctx, tx, scanCoupon, `
			SELECT `+couponColumns+` FROM coupons c
			WHERE c.user_id = $1 AND (c.state = 'issued' OR c.state = 'locked' AND c.locked_until <= now())
			ORDER BY c.ends_at <= coalesce($2, now()), c.ends_at, c.id LIMIT $3`, userID, wanted, mostUsable)
		return err
	})
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("cannot read usable coupons: %w", err)
	}
	return usable, now.UTC(), nil
}
