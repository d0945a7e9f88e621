package checkout

import (
	"context"
	"fmt"

	"sluice/shared/checkout"
)

// store is Postgres: each call is one transaction, and repeated it has one effect.
type store interface {
	LockCoupons(context.Context, checkout.Lock) (checkout.Locked, error)
	RedeemCoupons(context.Context, checkout.Order) (checkout.Redeemed, error)
	ReleaseCoupons(context.Context, checkout.Order) (checkout.Released, error)
	RefundCoupons(context.Context, checkout.Refund) (checkout.Refunded, error)
}

// Calls are what order systems ask of the store, counted. So many are in the store at a
// time that a connection is left for who only looks: an order of ten thousand lines is
// slow to read, however short the call that names it.
type Calls struct {
	store   store
	turns   chan struct{} // holds one for each call that is in the store
	hit     func(failpoint string) error
	metrics *Metrics
}

// NewCalls builds the calls. atOnce of them, at least one, are in the store at a time.
func NewCalls(s store, atOnce int, hit func(failpoint string) error, m *Metrics) *Calls {
	return &Calls{store: s, turns: make(chan struct{}, max(1, atOnce)), hit: hit, metrics: m}
}

// inTurn asks the store once there is a turn, or fails when ctx ends before.
func inTurn[A, B any](ctx context.Context, c *Calls, call func(context.Context, A) (B, error), asked A) (answer B, err error) {
	select {
	case c.turns <- struct{}{}:
		defer func() { <-c.turns }()
		return call(ctx, asked)
	case <-ctx.Done():
		return answer, fmt.Errorf("no turn at the store: %w", ctx.Err())
	}
}

// LockCoupons locks coupons for an order.
func (c *Calls) LockCoupons(ctx context.Context, l checkout.Lock) (checkout.Locked, error) {
	locked, err := inTurn(ctx, c, c.store.LockCoupons, l)
	c.metrics.called(callLock, outcomeOf(locked.Repeated, err))
	if err != nil {
		return checkout.Locked{}, err
	}
	c.metrics.happened(locked.Moved)
	return locked, c.hit(LockCommitted)
}

// RedeemCoupons uses the coupons of an order that was paid.
func (c *Calls) RedeemCoupons(ctx context.Context, o checkout.Order) (checkout.Redeemed, error) {
	redeemed, err := inTurn(ctx, c, c.store.RedeemCoupons, o)
	outcome := outcomeOf(redeemed.Repeated, err)
	if outcome == outcomeDone && redeemed.Result == checkout.ResultRefund {
		outcome = outcomeRefused
	}
	c.metrics.called(callRedeem, outcome)
	if err != nil {
		return checkout.Redeemed{}, err
	}
	c.metrics.happened(redeemed.Moved)
	if !redeemed.Repeated {
		c.metrics.missed(redeemed.Missing)
	}
	return redeemed, c.hit(RedeemCommitted)
}

// ReleaseCoupons lets go of an order's coupons.
func (c *Calls) ReleaseCoupons(ctx context.Context, o checkout.Order) (checkout.Released, error) {
	released, err := inTurn(ctx, c, c.store.ReleaseCoupons, o)
	c.metrics.called(callRelease, outcomeOf(released.Repeated, err))
	if err != nil {
		return checkout.Released{}, err
	}
	c.metrics.happened(released.Moved)
	return released, c.hit(ReleaseCommitted)
}

// RefundCoupons takes back a part of an order, or all of it.
func (c *Calls) RefundCoupons(ctx context.Context, r checkout.Refund) (checkout.Refunded, error) {
	refunded, err := inTurn(ctx, c, c.store.RefundCoupons, r)
	c.metrics.called(callRefund, outcomeOf(refunded.Repeated, err))
	if err != nil {
		return checkout.Refunded{}, err
	}
	c.metrics.happened(refunded.Moved)
	return refunded, c.hit(RefundCommitted)
}
