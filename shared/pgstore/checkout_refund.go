package pgstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"sluice/shared/checkout"
	"sluice/shared/coupon"
	"sluice/shared/pricing"
)

// RefundCoupons takes back a part of a redeemed order, or what is left of it: the money
// and discounts that were stored, never computed again. A refund's id has one content and
// one answer. Once nothing is left, coupons go back to their user if their terms say so.
//
// checkout.ErrNoOrder, checkout.ErrNotRedeemed, checkout.ErrOtherRefund,
// *checkout.LineError.
func (s *Store) RefundCoupons(ctx context.Context, r checkout.Refund) (refunded checkout.Refunded, err error) {
	err = s.checkout(ctx, "refund", r.Order, func(ctx context.Context, c *checkingOut) (err error) {
		refunded, err = c.refund(ctx, r)
		refunded.Moved = c.moved
		return err
	})
	return refunded, err
}

func (c *checkingOut) refund(ctx context.Context, r checkout.Refund) (checkout.Refunded, error) {
	if err := c.stand(ctx); err != nil {
		return checkout.Refunded{}, err
	}
	if err := c.standing.Refund(r.Order); err != nil {
		return checkout.Refunded{}, err
	}
	if before, repeated, err := c.refundedBefore(ctx, r); err != nil || repeated {
		return before, err
	}
	paid, err := c.charged(ctx)
	if err != nil {
		return checkout.Refunded{}, err
	}
	reversal, err := r.Reverse(paid.charged, paid.currency, paid.done)
	if err != nil {
		return checkout.Refunded{}, err
	}
	moves, err := c.giveBack(ctx, paid.redeemed, reversal.Full)
	if err != nil {
		return checkout.Refunded{}, err
	}
	for _, m := range moves {
		if m.refusal == "" {
			reversal.Returned = append(reversal.Returned, m.after.ID)
		}
	}
	return reversal.Refunded, c.storeRefund(ctx, r, reversal, moves)
}

// refundedBefore is the answer that the refund's id has had.
func (c *checkingOut) refundedBefore(ctx context.Context, r checkout.Refund) (answer checkout.Refunded, repeated bool, err error) {
	var asked []byte
	err = c.tx.QueryRow(ctx, `
		SELECT asked, answer FROM checkout_refunds WHERE user_id = $1 AND order_id = $2 AND refund_id = $3`,
		r.UserID, r.OrderID, r.RefundID).Scan(&asked, &answer)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return checkout.Refunded{}, false, nil
	case err != nil:
		return checkout.Refunded{}, false, fmt.Errorf("read refund: %w", err)
	case [32]byte(asked) != r.Asked(): // the table has none of another length
		return checkout.Refunded{}, false, checkout.ErrOtherRefund
	}
	answer.Repeated = true
	return answer, true, nil
}

// paidOrder is a redeemed order as refunds see it.
type paidOrder struct {
	charged  pricing.Charged
	currency string
	done     checkout.Done
	redeemed []string // coupons that it has used
}

func (c *checkingOut) charged(ctx context.Context) (paid paidOrder, err error) {
	var cart pricing.Cart
	var quote pricing.Quote
	var result checkout.Redeemed
	err = c.tx.QueryRow(ctx, `
		SELECT cart, quote, shares, result, refunded, clock_timestamp() FROM checkouts WHERE user_id = $1 AND order_id = $2`,
		c.order.UserID, c.order.OrderID).Scan(&cart, &quote, &quote.Shares, &result, &paid.done, &c.now)
	if err != nil {
		return paid, fmt.Errorf("read what was charged: %w", err)
	}
	paid.charged = pricing.Charge(cart, quote, result.NotGiven()...)
	paid.currency = quote.Currency
	for _, used := range result.Redeemed {
		paid.redeemed = append(paid.redeemed, used.CouponID)
	}
	return paid, nil
}

// giveBack returns coupons of an order of which nothing is left.
func (c *checkingOut) giveBack(ctx context.Context, redeemed []string, full bool) ([]couponMove, error) {
	if !full || len(redeemed) == 0 {
		return nil, nil
	}
	coupons, err := c.lockCoupons(ctx, redeemed)
	return c.moveEach(coupons, func(i coupon.Instance) (coupon.Instance, []coupon.Happened, coupon.Refusal) {
		return i.Return(c.order.OrderID, c.now)
	}), err
}

func (c *checkingOut) storeRefund(ctx context.Context, r checkout.Refund, v checkout.Reversal, moves []couponMove) error {
	cycles, err := c.cyclesGiven(ctx)
	if err != nil {
		return err
	}
	if err := c.write(ctx, moves); err != nil {
		return err
	}
	if err := c.post(ctx, v.Ledger, v.Currency, cycles, r.RefundID); err != nil {
		return err
	}
	asked := r.Asked()
	_, err = c.tx.Exec(ctx, `
		INSERT INTO checkout_refunds (user_id, order_id, refund_id, asked, answer, created_at) VALUES ($1, $2, $3, $4, $5, $6)`,
		r.UserID, r.OrderID, r.RefundID, asked[:], v.Refunded, c.now)
	if err != nil {
		return fmt.Errorf("store refund: %w", err)
	}
	return c.become(ctx, `UPDATE checkouts SET refunded = $4, changed_at = $5
		WHERE user_id = $1 AND order_id = $2 AND state = $3`, v.Done, c.now)
}

// cyclesGiven tells in which cycle each coupon's discount was given to the order: it may
// be in a later one by now, if it was honoured.
func (c *checkingOut) cyclesGiven(ctx context.Context) (map[string]int64, error) {
	cycles := map[string]int64{}
	rows, err := c.tx.Query(ctx, `
		SELECT coupon_id::text, min(cycle) FROM coupon_ledger
		WHERE user_id = $1 AND order_id = $2 AND event <> 'refund' GROUP BY coupon_id`, c.order.UserID, c.order.OrderID)
	if err != nil {
		return nil, err
	}
	var id string
	var cycle int64
	_, err = pgx.ForEachRow(rows, []any{&id, &cycle}, func() error { cycles[id] = cycle; return nil })
	if err != nil {
		return nil, fmt.Errorf("read ledger: %w", err)
	}
	return cycles, nil
}
