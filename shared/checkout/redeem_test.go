package checkout

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/shared/coupon"
	"sluice/shared/pricing"
)

func held(id string) Held { return Held{CouponID: id, DiscountMinor: 100, IfGone: coupon.GoneHonour} }

func gone(id string, policy coupon.IfGone) Held {
	return Held{CouponID: id, DiscountMinor: 10, Gone: true, IfGone: policy}
}

func TestRedeem_DecidesByThePoliciesOfWhatIsGone(t *testing.T) {
	t.Parallel()
	late := held("c")
	late.Late = true
	for name, c := range map[string]struct {
		held     []Held
		result   Result
		redeemed []RedeemedCoupon
		missing  []MissingCoupon
		topUp    int64
		given    map[string]LedgerEvent
	}{
		"all there": {[]Held{late, held("a")}, ResultRedeemed, []RedeemedCoupon{{"a", 100, false}, {"c", 100, true}}, nil, 0,
			map[string]LedgerEvent{"a": LedgerRedeem, "c": LedgerRedeem}},
		"one is honoured": {[]Held{held("b"), gone("a", coupon.GoneHonour)}, ResultRedeemed, []RedeemedCoupon{{"b", 100, false}},
			[]MissingCoupon{{"a", 10, coupon.GoneHonour}}, 0, map[string]LedgerEvent{"a": LedgerHonour, "b": LedgerRedeem}},
		"two are topped up": {[]Held{gone("a", coupon.GoneTopUp), held("b"), gone("c", coupon.GoneTopUp)}, ResultRedeemed, []RedeemedCoupon{{"b", 100, false}},
			[]MissingCoupon{{"a", 10, coupon.GoneTopUp}, {"c", 10, coupon.GoneTopUp}}, 20, map[string]LedgerEvent{"b": LedgerRedeem}},
		"all are gone": {[]Held{gone("a", coupon.GoneTopUp), gone("b", coupon.GoneHonour)}, ResultRedeemed, nil,
			[]MissingCoupon{{"a", 10, coupon.GoneTopUp}, {"b", 10, coupon.GoneHonour}}, 10, map[string]LedgerEvent{"b": LedgerHonour}},
		"one is refunded": {[]Held{held("d"), gone("a", coupon.GoneTopUp), gone("b", coupon.GoneRefund), gone("c", coupon.GoneHonour)}, ResultRefund, nil,
			[]MissingCoupon{{"a", 10, coupon.GoneTopUp}, {"b", 10, coupon.GoneRefund}, {"c", 10, coupon.GoneHonour}}, 0, map[string]LedgerEvent{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Redeem("o-1", "CNY", c.held, noon)
			want := Redeemed{OrderID: "o-1", Result: c.result, Redeemed: append([]RedeemedCoupon{}, c.redeemed...),
				Missing: append([]MissingCoupon{}, c.missing...), TopUpMinor: c.topUp, Currency: "CNY", At: noon}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("redeemed (-want +got):\n%s", diff)
			}
			if becomes := got.Becomes(); (becomes == StateRefused) != (c.result == ResultRefund) {
				t.Errorf("the order becomes %s", becomes)
			}
			given := map[string]LedgerEvent{}
			var shares []pricing.Share
			for _, h := range c.held {
				shares = append(shares, pricing.Share{CouponID: h.CouponID, LineID: "1", Party: "p", DiscountMinor: 1})
			}
			for _, row := range got.Given(shares) {
				given[row.CouponID] = row.Event
			}
			if diff := cmp.Diff(c.given, given); diff != "" {
				t.Errorf("given (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGiven_AddsUpByPartAndParty(t *testing.T) {
	t.Parallel()
	r := Redeem("o-1", "CNY", []Held{held("a")}, noon)
	got := r.Given([]pricing.Share{
		{CouponID: "a", LineID: "x", Party: "p", DiscountMinor: 3},
		{CouponID: "a", LineID: "x", Party: "q", DiscountMinor: 0},
		{CouponID: "a", LineID: "x", Party: "p", DiscountMinor: 4},
		{CouponID: "a", Merchant: "x", Parcel: true, Party: "p", DiscountMinor: 5},
		{CouponID: "b", LineID: "x", Party: "p", DiscountMinor: 6}, // not of this order
	})
	want := []LedgerRow{
		{CouponID: "a", PartID: "x", Party: "p", AmountMinor: 7, Event: LedgerRedeem},
		{CouponID: "a", Parcel: true, PartID: "x", Party: "p", AmountMinor: 5, Event: LedgerRedeem},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestRefused_NamesTheCouponAndWhatItIs(t *testing.T) {
	t.Parallel()
	for refusal, want := range map[coupon.Refusal]string{
		coupon.RefusedLocked: "coupon c: locked", coupon.RefusedDone: "coupon c: locked", coupon.RefusedRedeemed: "coupon c: redeemed",
		coupon.RefusedExpired: "coupon c: expired", coupon.RefusedVoid: "coupon c: void",
		coupon.RefusedNotStarted: (&NotApplicableError{}).Error(),
	} {
		if err := Refused("c", refusal); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %q", refusal, err, want)
		}
	}
	if err := Refused("c", ""); err != nil {
		t.Error(err)
	}
}
