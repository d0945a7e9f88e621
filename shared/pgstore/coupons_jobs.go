package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/shared/coupon"
)

// LapseLocks lets go of coupons whose lock's deadline has passed, the longest overdue
// first, at most limit, and returns how many. What another transaction has in hand is
// passed over, so any number of workers may call it at once.
func (s *Store) LapseLocks(ctx context.Context, limit int) (int, error) {
	return s.moveDue(ctx, "lapse", limit, coupon.Instance.Lapse, `
		SELECT `+dueColumns+` FROM coupons c
		WHERE c.state = 'locked' AND c.locked_until <= now() ORDER BY c.locked_until LIMIT $1 FOR UPDATE SKIP LOCKED`)
}

// ExpireCoupons ends issued coupons whose time is over, otherwise as LapseLocks does.
func (s *Store) ExpireCoupons(ctx context.Context, limit int) (int, error) {
	return s.moveDue(ctx, "expire", limit, coupon.Instance.Expire, `
		SELECT `+dueColumns+` FROM coupons c
		WHERE c.state = 'issued' AND c.ends_at <= now() AND c.ends_at < 'infinity' ORDER BY c.ends_at LIMIT $1 FOR UPDATE SKIP LOCKED`)
}

// moveDue makes one transition of the coupons that a query locks.
func (s *Store) moveDue(ctx context.Context, job string, limit int,
	transition func(coupon.Instance, time.Time) (coupon.Instance, []coupon.Happened, coupon.Refusal), due string,
) (moved int, err error) {
	err = s.inTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		coupons, now, err := couponsThen(ctx, tx, scanDue, due, limit)
		if err != nil {
			return err
		}
		moved = 0
		moves := make([]couponMove, len(coupons))
		for i, c := range coupons {
			after, happened, refusal := transition(c, now)
			moves[i] = move(c, after, happened, refusal)
			if refusal == "" {
				moved++
			}
		}
		if err := writeMoves(ctx, tx, moves, now); err != nil || moved == 0 {
			return err
		}
		return s.beforeCommit(job)
	})
	if err != nil {
		return 0, fmt.Errorf("cannot %s coupons: %w", job, err)
	}
	return moved, nil
}
