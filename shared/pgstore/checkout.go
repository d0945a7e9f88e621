package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/shared/checkout"
	"sluice/shared/coupon"
)

// checkingOut is a transaction of one order of an order system. It takes the locks in the
// store's order: the order's row, then coupons by id. What it decides holds as of now,
// which is read once it has them; two calls of one order never overlap.
type checkingOut struct {
	tx        pgx.Tx
	order     checkout.Order
	standing  checkout.Standing
	couponIDs []string // of the order's lock, ascending
	now       time.Time
	wrote     bool
	moved     checkout.Moved
}

// checkout runs one call of an order in a transaction.
func (s *Store) checkout(ctx context.Context, call string, o checkout.Order, fn func(context.Context, *checkingOut) error) error {
	err := s.inTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		c := &checkingOut{tx: tx, order: o}
		if err := fn(ctx, c); err != nil || !c.wrote {
			return err
		}
		return s.beforeCommit(call)
	})
	if err != nil {
		return fmt.Errorf("cannot %s coupons of order %s: %w", call, o.OrderID, err)
	}
	return nil
}

const standingOfOrder = `
	SELECT state, merchant, asked, locked_until, coupon_ids::text[]
	FROM checkouts WHERE user_id = $1 AND order_id = $2 FOR UPDATE`

// stand locks the order's row and reads how it stands; ErrNoOrder if there is none.
func (c *checkingOut) stand(ctx context.Context) error {
	err := c.scanStanding(c.tx.QueryRow(ctx, standingOfOrder, c.order.UserID, c.order.OrderID))
	if errors.Is(err, pgx.ErrNoRows) {
		return checkout.ErrNoOrder
	}
	return err
}

func (c *checkingOut) scanStanding(row pgx.Row) error {
	var asked []byte
	err := row.Scan(&c.standing.State, &c.standing.Merchant, &asked, &c.standing.LockedUntil, &c.couponIDs)
	if err != nil {
		return err
	}
	copy(c.standing.Asked[:], asked) // the table has none of another length
	slices.Sort(c.couponIDs)
	return nil
}

// lockOwn locks the coupons of the order's lock, and returns them by id.
func (c *checkingOut) lockOwn(ctx context.Context) ([]coupon.Instance, error) {
	coupons, err := c.lockCoupons(ctx, c.couponIDs)
	if err == nil && len(coupons) != len(c.couponIDs) {
		err = errors.New("coupons that it had locked are not there")
	}
	return coupons, err
}

// lockCoupons locks those of the ids that are the buyer's, and returns them by id.
func (c *checkingOut) lockCoupons(ctx context.Context, ids []string) (coupons []coupon.Instance, err error) {
	coupons, c.now, err = couponsThen(ctx, c.tx, scanCoupon, `
		SELECT `+couponColumns+` FROM coupons c
		WHERE c.id = ANY ($1::text[]::uuid[]) AND c.user_id = $2 ORDER BY c.id FOR UPDATE`, ids, c.order.UserID)
	return coupons, err
}

// write writes what became of coupons.
func (c *checkingOut) write(ctx context.Context, moves []couponMove) error {
	c.wrote = true
	for _, m := range moves {
		for _, h := range m.happened {
			c.moved = append(c.moved, h.Event)
		}
	}
	return writeMoves(ctx, c.tx, moves, c.now)
}
