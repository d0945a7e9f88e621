package checkout

import (
	"errors"
	"testing"
	"time"

	"sluice/shared/coupon"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func TestStanding_SaysWhatACallMayDo(t *testing.T) {
	t.Parallel()
	l := someLock()
	other := someLock()
	other.Hold++
	type can struct {
		again bool
		err   error
	}
	for _, c := range []struct {
		name                           string
		state                          State
		now                            time.Time
		same, otherwise, redeem, letGo can
		refund                         error
	}{
		{"locked", StateLocked, noon.Add(-1), can{again: true}, can{err: ErrOrderLocked}, can{}, can{}, ErrNotRedeemed},
		{"lapsed", StateLocked, noon, can{}, can{}, can{}, can{}, ErrNotRedeemed},
		{"released", StateReleased, noon.Add(-1), can{}, can{}, can{}, can{again: true}, ErrNotRedeemed},
		{"redeemed", StateRedeemed, noon, can{again: true}, can{err: ErrOrderLocked}, can{again: true}, can{err: ErrRedeemed}, nil},
		{"refused", StateRefused, noon.Add(-1), can{err: ErrOrderLocked}, can{err: ErrOrderLocked}, can{again: true}, can{again: true}, ErrNotRedeemed},
	} {
		s := Standing{State: c.state, Asked: l.Asked(), LockedUntil: noon}
		want := func(call string, want can, again bool, err error) {
			if again != want.again || !errors.Is(err, want.err) {
				t.Errorf("%s of an order that is %s: repeated %v, error %v; want %+v", call, c.name, again, err, want)
			}
		}
		again, err := s.Lock(l, c.now)
		want("the same lock", c.same, again, err)
		again, err = s.Lock(other, c.now)
		want("another lock", c.otherwise, again, err)
		again, err = s.Redeem(l.Order)
		want("redeem", c.redeem, again, err)
		again, err = s.Release(l.Order)
		want("release", c.letGo, again, err)
		want("refund", can{err: c.refund}, false, s.Refund(l.Order))
	}
}

func TestStanding_OfAnotherMerchantIsNotShown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		locked, asks string
		shown        bool
		owner        string
	}{
		{"", "", true, ""}, {"", "shop", true, "shop"}, {"shop", "", false, "shop"}, {"shop", "shop", true, "shop"}, {"shop", "rival", false, "shop"},
	} {
		for _, state := range []State{StateLocked, StateReleased, StateRedeemed, StateRefused} {
			l := someLock()
			l.Merchant = c.asks
			s := Standing{State: state, Merchant: c.locked, Asked: l.Asked(), LockedUntil: noon}
			_, lock := s.Lock(l, noon)
			_, redeem := s.Redeem(l.Order)
			_, release := s.Release(l.Order)
			hidden := errors.Is(lock, ErrOrderLocked) && errors.Is(redeem, ErrNoOrder) && errors.Is(release, ErrNoOrder) && errors.Is(s.Refund(l.Order), ErrNoOrder)
			if hidden == c.shown {
				t.Errorf("%s order of %q, asked by %q: lock %v, redeem %v, release %v", state, c.locked, c.asks, lock, redeem, release)
			}
			if owner := l.Owner(s); owner != c.owner {
				t.Errorf("order of %q, locked by %q, is of %q then", c.locked, c.asks, owner)
			}
		}
	}
}

func TestIfGone_OfWhatWasGivenUpIsPaidByTheBuyer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state       State
		terms, want coupon.IfGone
	}{
		{StateLocked, coupon.GoneHonour, coupon.GoneHonour}, {StateLocked, coupon.GoneTopUp, coupon.GoneTopUp}, {StateLocked, coupon.GoneRefund, coupon.GoneRefund},
		{StateReleased, coupon.GoneHonour, coupon.GoneTopUp}, {StateReleased, coupon.GoneTopUp, coupon.GoneTopUp}, {StateReleased, coupon.GoneRefund, coupon.GoneRefund},
	} {
		if got := (Standing{State: c.state}).IfGone(c.terms); got != c.want {
			t.Errorf("%s order, %s: %s, want %s", c.state, c.terms, got, c.want)
		}
	}
}
