package pgstore

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"sluice/shared/checkout"
	"sluice/shared/coupon"
)

// A lock's deadline has passed: its order pays, another one takes the coupon over, and
// jobs let go of it, all at once. One of the orders gets it, and the other is told so.
func TestCoupon_LapseRedeemAndTakeoverAtOnceHaveOneWinner(t *testing.T) {
	t.Parallel()
	s := withoutDeadlocks(t)
	for n := range 60 {
		user := fmt.Sprint("user-", n)
		id, paid, other := give(t, s, user, tenOff("a")), orderOf(user, "o-1"), orderOf(user, "o-2")
		lock(t, s, lockOf(paid, id))
		passDeadline(t, s, user)
		var redeemed checkout.Redeemed
		var taking error
		start := make(chan struct{})
		var group sync.WaitGroup
		for _, call := range []func(){
			func() { redeemed = redeem(t, s, paid) },
			func() { _, taking = s.LockCoupons(t.Context(), lockOf(other, id)) },
			func() {
				if _, err := s.LapseLocks(t.Context(), 10); err != nil {
					t.Error(err)
				}
			},
		} {
			group.Go(func() { <-start; call() })
		}
		close(start)
		group.Wait()
		wantOneWinner(t, s, id, redeemed, taking)
	}
}

func wantOneWinner(t *testing.T, s *Store, id string, redeemed checkout.Redeemed, taking error) {
	t.Helper()
	c, events := instance(t, s, id), fmt.Sprint(eventsOf(t, s, id))
	switch len(redeemed.Missing) {
	case 0:
		var refused *checkout.CouponError
		if !errors.As(taking, &refused) || refused.Why != checkout.WhyRedeemed {
			t.Errorf("the order that paid has it, the other one was told: %v", taking)
		}
		known := []string{"[lock o-1 redeem o-1]", "[lock o-1 lapse o-1 late_redeem o-1]"}
		if c.State != coupon.StateRedeemed || c.OrderID != "o-1" || !slices.Contains(known, events) {
			t.Errorf("coupon is %s of %s after %s", c.State, c.OrderID, events)
		}
	default:
		if taking != nil || len(redeemed.Redeemed) != 0 {
			t.Errorf("the order that paid misses it, the other one was told: %v; %+v", taking, redeemed)
		}
		if c.State != coupon.StateLocked || c.OrderID != "o-2" || events != "[lock o-1 lapse o-1 lock o-2]" {
			t.Errorf("coupon is %s of %s after %s", c.State, c.OrderID, events)
		}
	}
}
