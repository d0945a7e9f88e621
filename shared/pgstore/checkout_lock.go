package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"sluice/shared/checkout"
	"sluice/shared/pricing"
)

// LockCoupons gives coupons to an order until a deadline, all of them or none, and prices
// its cart with exactly these. The price is stored and answered again, to whoever asks
// for the same, for as long as the lock holds and once it is redeemed. A lock of another
// order whose deadline has passed is taken over.
//
// checkout.ErrOrderLocked, *checkout.CouponError for the first coupon by id that cannot be
// had, *checkout.NotApplicableError, *pricing.InvalidError. Nothing is written then.
func (s *Store) LockCoupons(ctx context.Context, l checkout.Lock) (locked checkout.Locked, err error) {
	err = s.checkout(ctx, "lock", l.Order, func(ctx context.Context, c *checkingOut) (err error) {
		locked, err = c.lock(ctx, l)
		locked.Moved = c.moved
		return err
	})
	return locked, err
}

func (c *checkingOut) lock(ctx context.Context, l checkout.Lock) (checkout.Locked, error) {
	if err := c.begin(ctx, l); err != nil {
		return checkout.Locked{}, err
	}
	repeated, err := c.standing.Lock(l, c.now)
	if err != nil {
		return checkout.Locked{}, err
	}
	if repeated {
		return c.lockedBefore(ctx)
	}
	moves, err := c.take(ctx, l)
	if err != nil {
		return checkout.Locked{}, err
	}
	cart := l.Cart
	cart.At, cart.Coupons = c.now, couponsOf(moves)
	quote, err := priced(cart)
	if err != nil {
		return checkout.Locked{}, err
	}
	if err := c.write(ctx, moves); err != nil {
		return checkout.Locked{}, err
	}
	return c.storeLock(ctx, l, cart, quote)
}

// begin locks the order's row, which it makes if need be: of an order that holds nothing.
// Nobody ever sees that one: it becomes locked, or is rolled back.
func (c *checkingOut) begin(ctx context.Context, l checkout.Lock) error {
	asked := l.Asked()
	statements := &pgx.Batch{} // one round trip
	statements.Queue(`
		INSERT INTO checkouts (user_id, order_id, merchant, state, asked, coupon_ids, cart, quote, shares, locked_until)
		VALUES ($1, $2, $3, 'released', $4, '{}', '{}', '{}', '[]', now())
		ON CONFLICT DO NOTHING`, l.UserID, l.OrderID, l.Merchant, asked[:])
	statements.Queue(standingOfOrder, l.UserID, l.OrderID).QueryRow(c.scanStanding)
	statements.Queue(`SELECT clock_timestamp()`).QueryRow(func(row pgx.Row) error { return row.Scan(&c.now) })
	if err := c.tx.SendBatch(ctx, statements).Close(); err != nil {
		return fmt.Errorf("lock order: %w", err)
	}
	return nil
}

// take locks the coupons' rows, and then decides about each of them by id. It fails with
// the refusal of the first that cannot be had. Coupons that an earlier lock of the order
// has left behind are the lapse's: their deadline has passed.
func (c *checkingOut) take(ctx context.Context, l checkout.Lock) (moves []couponMove, err error) {
	wanted := slices.Sorted(slices.Values(l.CouponIDs))
	if at := slices.IndexFunc(wanted, func(id string) bool { return !isUUID(id) }); at >= 0 {
		return nil, &checkout.CouponError{CouponID: wanted[at], Why: checkout.WhyUnknown}
	}
	coupons, err := c.lockCoupons(ctx, wanted)
	if err != nil {
		return nil, err
	}
	for i, id := range wanted {
		if i == len(coupons) || coupons[i].ID != id { // both by id
			return nil, &checkout.CouponError{CouponID: id, Why: checkout.WhyUnknown}
		}
		after, happened, refusal := coupons[i].Lock(l.OrderID, c.now.Add(l.Hold), c.now)
		if err := checkout.Refused(id, refusal); err != nil {
			return nil, err
		}
		moves = append(moves, move(coupons[i], after, happened, refusal))
	}
	return moves, nil
}

// couponsOf are what a cart is priced with.
func couponsOf(moves []couponMove) []pricing.Coupon {
	coupons := make([]pricing.Coupon, len(moves))
	for i, m := range moves {
		coupons[i] = pricing.Coupon{ID: m.after.ID, Snapshot: m.after.Snapshot}
	}
	return coupons
}

// priced is the price with every coupon of the cart.
func priced(cart pricing.Cart) (pricing.Quote, error) {
	quote, err := pricing.Exactly(cart)
	var rejected *pricing.NotExactlyError
	if errors.As(err, &rejected) {
		return quote, &checkout.NotApplicableError{Rejected: rejected.Rejected}
	}
	return quote, err
}

// storeLock keeps what was asked and answered. The answer is without Shares, as it is
// when it is given again.
func (c *checkingOut) storeLock(ctx context.Context, l checkout.Lock, cart pricing.Cart, quote pricing.Quote) (checkout.Locked, error) {
	asked, until := l.Asked(), c.now.Add(l.Hold)
	shares := append([]pricing.Share{}, quote.Shares...)
	_, err := c.tx.Exec(ctx, `
		UPDATE checkouts SET merchant = $3, state = 'locked', asked = $4, coupon_ids = $5::text[]::uuid[],
			cart = $6, quote = $7, shares = $8, locked_until = $9, changed_at = $10
		WHERE user_id = $1 AND order_id = $2`,
		l.UserID, l.OrderID, l.Owner(c.standing), asked[:], l.CouponIDs, cart, quote, shares, until, c.now)
	if err != nil {
		return checkout.Locked{}, fmt.Errorf("store lock: %w", err)
	}
	quote.Shares = nil
	return checkout.Locked{OrderID: l.OrderID, Quote: quote, LockedUntil: until}, nil
}

// lockedBefore is the answer of the lock that holds.
func (c *checkingOut) lockedBefore(ctx context.Context) (checkout.Locked, error) {
	locked := checkout.Locked{OrderID: c.order.OrderID, LockedUntil: c.standing.LockedUntil.UTC(), Repeated: true}
	err := c.tx.QueryRow(ctx, `SELECT quote FROM checkouts WHERE user_id = $1 AND order_id = $2`,
		c.order.UserID, c.order.OrderID).Scan(&locked.Quote)
	if err != nil {
		return checkout.Locked{}, fmt.Errorf("read quote: %w", err)
	}
	return locked, nil
}

// isUUID wants the one form that Postgres writes.
func isUUID(id string) bool {
	parsed, err := uuid.Parse(id)
	return err == nil && parsed.String() == id
}
