package pricing_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/shared/coupon"
	"sluice/shared/pricing"
)

// Three units of 10.00 with 1.00 and 0.50 off, which a platform and a merchant bear.
// After one unit: ⌊2850/3⌋ = 950 back, so 50 of the discounts: of these ⌊50·100/150⌋ = 33
// of a and 17 of b; of the 33 ⌊33·70/100⌋ = 23 and 10. After two: 1900 back, 100
// reversed: 66 and 34; 46 and 20.
func TestBack_SplitsAsByHand(t *testing.T) {
	t.Parallel()
	line := pricing.ChargedLine{ID: "l", Quantity: 3, UnitPriceMinor: 1000, NetMinor: 2850, Shares: []pricing.Share{
		{CouponID: "a", LineID: "l", Party: "platform", DiscountMinor: 70}, {CouponID: "a", LineID: "l", Party: "merchant", DiscountMinor: 30},
		{CouponID: "b", LineID: "l", Party: "platform", DiscountMinor: 50},
	}}
	for k, want := range [][4]int64{{0, 0, 0, 0}, {950, 23, 10, 17}, {1900, 46, 20, 34}, {2850, 70, 30, 50}} {
		money, shares := line.Back(int64(k))
		if got := [4]int64{money, shares[0].DiscountMinor, shares[1].DiscountMinor, shares[2].DiscountMinor}; got != want {
			t.Errorf("after %d units: %v, want %v", k, got, want)
		}
	}
	for k, like := range map[int64]int64{-1: 0, 4: 3, math.MaxInt64: 3} {
		money, shares := line.Back(k)
		wantMoney, wantShares := line.Back(like)
		if money != wantMoney || !slices.Equal(shares, wantShares) {
			t.Errorf("after %d units: %d, %v", k, money, shares)
		}
	}
}

// wantBack looks at all units of a line one after the other.
func wantBack(t *testing.T, l pricing.ChargedLine) {
	t.Helper()
	before := make([]pricing.Share, len(l.Shares))
	paid := int64(0)
	for k := range l.Quantity + 1 {
		money, shares := l.Back(k)
		back := money
		for i, s := range shares {
			back += s.DiscountMinor
			if s.DiscountMinor < before[i].DiscountMinor || s.DiscountMinor > l.Shares[i].DiscountMinor {
				t.Errorf("share %d is %d after %d units, %d before, %d in all", i, s.DiscountMinor, k, before[i].DiscountMinor, l.Shares[i].DiscountMinor)
			}
		}
		if back != k*l.UnitPriceMinor || money < paid {
			t.Errorf("%d of %d units: %d back, %d with discounts, want %d; %d before", k, l.Quantity, money, back, k*l.UnitPriceMinor, paid)
		}
		paid, before = money, shares
	}
	if paid != l.NetMinor || !slices.Equal(before, l.Shares) {
		t.Errorf("after the last unit %d %v, want %d %v", paid, before, l.NetMinor, l.Shares)
	}
}

func TestBack_MoneyAndDiscountsAreThePriceAndTheLastUnitClosesAll(t *testing.T) {
	shares := 0
	forAnyCart(t, 6, func(t *testing.T, _ *rand.Rand, c pricing.Cart) {
		q := best(t, c)
		charged := pricing.Charge(c, q)
		paid := int64(0)
		for _, l := range charged.Lines {
			wantBack(t, l)
			paid += l.NetMinor
			shares += len(l.Shares)
		}
		for _, p := range charged.Shipping {
			money, back := p.Back()
			paid += money
			if !slices.Equal(back, p.Shares) {
				t.Errorf("parcel %+v: back %v", p, back)
			}
		}
		if paid != q.PayableMinor {
			t.Errorf("charged %d, want %d", paid, q.PayableMinor)
		}
	})
	if shares == 0 {
		t.Error("no line has a discount")
	}
}

// A discount that is not given is paid, and borne by nobody.
func TestCharge_WithoutACouponItsDiscountIsPaid(t *testing.T) {
	forAnyCart(t, 7, func(t *testing.T, _ *rand.Rand, c pricing.Cart) {
		q := best(t, c)
		if len(q.Coupons) == 0 {
			return
		}
		gone := q.Coupons[0]
		charged := pricing.Charge(c, q, gone.ID)
		paid := int64(0)
		for _, l := range charged.Lines {
			wantBack(t, l)
			paid += l.NetMinor
			if slices.ContainsFunc(l.Shares, func(s pricing.Share) bool { return s.CouponID == gone.ID }) {
				t.Errorf("line %+v has a share of %s", l, gone.ID)
			}
		}
		for _, p := range charged.Shipping {
			paid += p.NetMinor
		}
		if paid != q.PayableMinor+gone.DiscountMinor {
			t.Errorf("charged %d, want %d and %d", paid, q.PayableMinor, gone.DiscountMinor)
		}
	})
}

func TestBack_OfTheLargestAmounts(t *testing.T) {
	t.Parallel()
	const most = math.MaxInt64
	for _, l := range []pricing.ChargedLine{
		{ID: "free of charge", Quantity: 2, UnitPriceMinor: most / 2, Shares: []pricing.Share{{CouponID: "a", DiscountMinor: most - 1}}},
		{ID: "one unit", Quantity: 1, UnitPriceMinor: most, NetMinor: 7, Shares: []pricing.Share{{CouponID: "a", DiscountMinor: most - 10}, {CouponID: "b", DiscountMinor: 3}}},
		{ID: "nothing", Quantity: 3},
	} {
		wantBack(t, l)
	}
	l := pricing.ChargedLine{ID: "most units", Quantity: most, UnitPriceMinor: 1, NetMinor: most / 3, Shares: []pricing.Share{{CouponID: "a", DiscountMinor: most - most/3}}}
	for _, k := range []int64{0, 1, 2, most / 2, most - 1, most} {
		if money, shares := l.Back(k); money+shares[0].DiscountMinor != k {
			t.Errorf("after %d units %d and %d", k, money, shares[0].DiscountMinor)
		}
	}
}

// It is stored, and what comes back is what went in.
func TestCharged_IsTheSameFromItsJSON(t *testing.T) {
	t.Parallel()
	c := sound()
	c.Coupons = together(c.Coupons[:2], stackable(1, coupon.KindFreeShipping, 0, nil))
	c = c.WithDefaults(midday)
	want := pricing.Charge(c, best(t, c))
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got pricing.Charged
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(want.Lines[0].Shares) != 2 || len(want.Shipping[0].Shares) != 1 {
		t.Errorf("not what was meant: %s", text)
	}
}
