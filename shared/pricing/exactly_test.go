package pricing_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/shared/coupon"
	"sluice/shared/pricing"
)

func TestExactly_RefusesWhatTakesNothingOff(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]struct {
		coupons []pricing.Coupon
		change  func(c []pricing.Coupon)
		want    []pricing.Rejection
	}{
		"not eligible, no effect alone": {stackable(4, coupon.KindAmount, 500, nil), func(c []pricing.Coupon) {
			c[3].Currency = "USD"
			c[1].MinAmountCents = 1 << 40
			c[0].Kind, c[0].Value = coupon.KindPercent, 100
		}, []pricing.Rejection{{ID: "amount-0000", Reason: pricing.ReasonNoEffect}, {ID: "amount-0001", Reason: pricing.ReasonBelowMinimum}, {ID: "amount-0003", Reason: pricing.ReasonCurrency}}},
		"one that combines with neither": {stackable(3, coupon.KindAmount, 500, nil), func(c []pricing.Coupon) { c[1].StackWith = nil },
			[]pricing.Rejection{{ID: "amount-0000", Reason: pricing.ReasonNotCombinable}, {ID: "amount-0001", Reason: pricing.ReasonNotCombinable}, {ID: "amount-0002", Reason: pricing.ReasonNotCombinable}}},
		"four for goods": {together(stackable(4, coupon.KindAmount, 1, nil), stackable(1, coupon.KindFreeShipping, 0, nil)), nil,
			[]pricing.Rejection{{ID: "amount-0000", Reason: pricing.ReasonNotCombinable}, {ID: "amount-0001", Reason: pricing.ReasonNotCombinable}, {ID: "amount-0002", Reason: pricing.ReasonNotCombinable}, {ID: "amount-0003", Reason: pricing.ReasonNotCombinable}}},
		"two for shipping": {stackable(2, coupon.KindFreeShipping, 0, nil), nil,
			[]pricing.Rejection{{ID: "free_shipping-0000", Reason: pricing.ReasonNotCombinable}, {ID: "free_shipping-0001", Reason: pricing.ReasonNotCombinable}}},
		"one that finds nothing left": {stackable(2, coupon.KindAmount, 1<<40, nil), nil,
			[]pricing.Rejection{{ID: "amount-0001", Reason: pricing.ReasonNoEffect}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := evenCart(4)
			c.Coupons = refused.coupons
			if refused.change != nil {
				refused.change(c.Coupons)
			}
			_, err := pricing.Exactly(c.WithDefaults(midday))
			not, is := errors.AsType[*pricing.NotExactlyError](err)
			if !is {
				t.Fatalf("got %v", err)
			}
			if diff := cmp.Diff(refused.want, not.Rejected); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestExactly_WithoutCouponsIsThePlainPrice(t *testing.T) {
	t.Parallel()
	q, err := pricing.Exactly(evenCart(4))
	if err != nil || q.PayableMinor != 4*10000+4*800 || q.DiscountMinor != 0 {
		t.Errorf("%+v, %v", q, err)
	}
	wantSums(t, q)
}

func TestExactly_BoundsTheSharesOfItsDiscounts(t *testing.T) {
	t.Parallel()
	c := evenCart(pricing.MaxShares / 8)
	c.Coupons = stackable(4, coupon.KindPercent, 90, nil)[:3]
	for i := range c.Coupons {
		c.Coupons[i].Bearers = []coupon.Bearer{{Party: "a", BPS: 5_000}, {Party: "b", BPS: 5_000}}
	}
	for name, bounded := range map[string]struct {
		change func(c *pricing.Cart)
		over   bool
	}{
		"three quarters": {func(*pricing.Cart) {}, false},
		"all of them":    {func(c *pricing.Cart) { c.Coupons[0].Bearers = quarters() }, false},
		"two more": {func(c *pricing.Cart) {
			c.Coupons[0].Bearers = append(quarters()[:3], coupon.Bearer{Party: "d", BPS: 2_499}, coupon.Bearer{Party: "e", BPS: 1})
		}, true},
		"out of scope": {func(c *pricing.Cart) {
			c.Coupons[0].Bearers, c.Coupons[0].Scope = append(quarters()[:3], coupon.Bearer{Party: "d", BPS: 2_499}, coupon.Bearer{Party: "e", BPS: 1}), coupon.Scope{SKUs: []string{c.Lines[0].SKU}}
			c.Lines[0].SKU += "-alone"
			c.Coupons[0].Scope.SKUs[0] = c.Lines[0].SKU
		}, false},
	} {
		c := c
		c.Lines, c.Coupons = slices.Clone(c.Lines), slices.Clone(c.Coupons)
		bounded.change(&c)
		_, err := pricing.Exactly(c.WithDefaults(midday))
		invalid, over := errors.AsType[*pricing.InvalidError](err)
		if over != bounded.over || !over && err != nil || over && (invalid.Field != "lines" || !strings.Contains(invalid.Detail, "at most 40000, so split the order")) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := pricing.Best(c.WithDefaults(midday)); err != nil {
			t.Errorf("%s: Best, of which nothing is stored: %v", name, err)
		}
	}
}

func quarters() (all []coupon.Bearer) {
	for _, party := range []string{"a", "b", "c", "d"} {
		all = append(all, coupon.Bearer{Party: party, BPS: coupon.FullBPS / 4})
	}
	return all
}
