package pgstore

import (
	"context"
	"fmt"
	"slices"

	"sluice/shared/checkout"
	"sluice/shared/coupon"
	"sluice/shared/pricing"
)

// RedeemCoupons uses every coupon of an order that was paid. Deadline and validity are
// not asked for: a coupon whose lock is gone is redeemed late if it is free. What happens
// when one is not, its terms say, see checkout.Redeem and Standing.IfGone. The first result is stored and
// answered ever after. checkout.ErrNoOrder.
func (s *Store) RedeemCoupons(ctx context.Context, o checkout.Order) (redeemed checkout.Redeemed, err error) {
	err = s.checkout(ctx, "redeem", o, func(ctx context.Context, c *checkingOut) (err error) {
		redeemed, err = c.redeem(ctx)
		redeemed.Moved = c.moved
		return err
	})
	return redeemed, err
}

func (c *checkingOut) redeem(ctx context.Context) (checkout.Redeemed, error) {
	if err := c.stand(ctx); err != nil {
		return checkout.Redeemed{}, err
	}
	repeated, err := c.standing.Redeem(c.order)
	if err != nil {
		return checkout.Redeemed{}, err
	}
	if repeated {
		return c.result(ctx)
	}
	quote, err := c.quoteAndShares(ctx)
	if err != nil {
		return checkout.Redeemed{}, err
	}
	coupons, err := c.lockOwn(ctx)
	if err != nil {
		return checkout.Redeemed{}, err
	}
	moves := c.moveEach(coupons, func(i coupon.Instance) (coupon.Instance, []coupon.Happened, coupon.Refusal) {
		return i.Redeem(c.order.OrderID, c.now)
	})
	result := checkout.Redeem(c.order.OrderID, quote.Currency, c.heldBy(moves, quote), c.now)
	if result.Result == checkout.ResultRefund {
		moves = c.letGoOf(coupons)
	}
	return result, c.storeResult(ctx, result, moves, result.Given(quote.Shares))
}

// moveEach decides about coupons by one transition.
func (c *checkingOut) moveEach(coupons []coupon.Instance, transition func(coupon.Instance) (coupon.Instance, []coupon.Happened, coupon.Refusal)) []couponMove {
	moves := make([]couponMove, len(coupons))
	for i, before := range coupons {
		after, happened, refusal := transition(before)
		moves[i] = move(before, after, happened, refusal)
	}
	return moves
}

// letGoOf releases those coupons that the order has locked.
func (c *checkingOut) letGoOf(coupons []coupon.Instance) []couponMove {
	return c.moveEach(coupons, func(i coupon.Instance) (coupon.Instance, []coupon.Happened, coupon.Refusal) {
		return i.Release(c.order.OrderID, c.now)
	})
}

// heldBy is how a redeem has found the order's coupons.
func (c *checkingOut) heldBy(moves []couponMove, quote pricing.Quote) []checkout.Held {
	discounts := make(map[string]int64, len(quote.Coupons))
	for _, used := range quote.Coupons {
		discounts[used.ID] = used.DiscountMinor
	}
	all := make([]checkout.Held, len(moves))
	for i, m := range moves {
		late := slices.ContainsFunc(m.happened, func(h coupon.Happened) bool { return h.Event == coupon.EventLateRedeem })
		all[i] = checkout.Held{CouponID: m.before.ID, DiscountMinor: discounts[m.before.ID],
			Gone: m.refusal != "", Late: late, IfGone: c.standing.IfGone(m.before.IfGone)}
	}
	return all
}

func (c *checkingOut) quoteAndShares(ctx context.Context) (quote pricing.Quote, err error) {
	err = c.tx.QueryRow(ctx, `SELECT quote, shares FROM checkouts WHERE user_id = $1 AND order_id = $2`,
		c.order.UserID, c.order.OrderID).Scan(&quote, &quote.Shares)
	if err != nil {
		return quote, fmt.Errorf("read quote: %w", err)
	}
	return quote, nil
}

// result is the first result of the order's redeem.
func (c *checkingOut) result(ctx context.Context) (result checkout.Redeemed, err error) {
	err = c.tx.QueryRow(ctx, `SELECT result FROM checkouts WHERE user_id = $1 AND order_id = $2`,
		c.order.UserID, c.order.OrderID).Scan(&result)
	if err != nil {
		return result, fmt.Errorf("read result: %w", err)
	}
	result.Repeated = true
	return result, nil
}

func (c *checkingOut) storeResult(ctx context.Context, result checkout.Redeemed, moves []couponMove, ledger []checkout.LedgerRow) error {
	if err := c.write(ctx, moves); err != nil {
		return err
	}
	if err := c.post(ctx, ledger, result.Currency, cyclesOf(moves), ""); err != nil {
		return err
	}
	return c.become(ctx, `UPDATE checkouts SET state = $4, result = $5, merchant = $6, changed_at = $7
		WHERE user_id = $1 AND order_id = $2 AND state = $3`, result.Becomes(), result, c.order.Owner(c.standing), c.now)
}

// become writes the order from the state that was read; the update's parameters begin
// with the order's key and that state.
func (c *checkingOut) become(ctx context.Context, update string, args ...any) error {
	tag, err := c.tx.Exec(ctx, update, append([]any{c.order.UserID, c.order.OrderID, c.standing.State}, args...)...)
	if err != nil {
		return fmt.Errorf("store order: %w", err)
	}
	if tag.RowsAffected() != 1 {
		return errStartOver
	}
	return nil
}

// cyclesOf tells in which cycle each coupon is.
func cyclesOf(moves []couponMove) map[string]int64 {
	cycles := make(map[string]int64, len(moves))
	for _, m := range moves {
		cycles[m.after.ID] = m.after.Cycle
	}
	return cycles
}
