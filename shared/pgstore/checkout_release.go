package pgstore

import (
	"context"

	"sluice/shared/checkout"
)

// ReleaseCoupons lets go of an order's coupons before it is paid. Those that it had locked
// go back, to be expired if their time is over. Repeated, it answers the same.
// checkout.ErrNoOrder, checkout.ErrRedeemed.
func (s *Store) ReleaseCoupons(ctx context.Context, o checkout.Order) (released checkout.Released, err error) {
	err = s.checkout(ctx, "release", o, func(ctx context.Context, c *checkingOut) error {
		if err := c.release(ctx); err != nil {
			return err
		}
		released = checkout.Released{OrderID: o.OrderID, Released: c.couponIDs, Repeated: !c.wrote, Moved: c.moved}
		return nil
	})
	return released, err
}

func (c *checkingOut) release(ctx context.Context) error {
	if err := c.stand(ctx); err != nil {
		return err
	}
	repeated, err := c.standing.Release(c.order)
	if err != nil || repeated {
		return err
	}
	coupons, err := c.lockOwn(ctx)
	if err != nil {
		return err
	}
	if err := c.write(ctx, c.letGoOf(coupons)); err != nil {
		return err
	}
	return c.become(ctx, `UPDATE checkouts SET state = 'released', changed_at = $4
		WHERE user_id = $1 AND order_id = $2 AND state = $3`, c.now)
}
