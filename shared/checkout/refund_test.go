package checkout

import (
	"errors"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sluice/shared/pricing"
)

// someCharged is 3 cups at 10.00 with 2.00 off by coupon a and 1.00 by b, a pan at 5.00,
// and a parcel of 6.00 with 4.00 off.
func someCharged() pricing.Charged {
	return pricing.Charged{
		Lines: []pricing.ChargedLine{
			{ID: "cup", Quantity: 3, UnitPriceMinor: 1_000, NetMinor: 2_700, Shares: []pricing.Share{
				{CouponID: "a", LineID: "cup", Party: "platform", DiscountMinor: 140},
				{CouponID: "a", LineID: "cup", Party: "merchant", DiscountMinor: 60},
				{CouponID: "b", LineID: "cup", Party: "platform", DiscountMinor: 100},
			}},
			{ID: "pan", Quantity: 1, UnitPriceMinor: 500, NetMinor: 500, Shares: []pricing.Share{}},
		},
		Shipping: []pricing.ChargedParcel{{Merchant: "m", FeeMinor: 600, NetMinor: 200, Shares: []pricing.Share{
			{CouponID: "s", Merchant: "m", Parcel: true, Party: "platform", DiscountMinor: 400},
		}}},
	}
}

func reverse(t *testing.T, r Refund, charged pricing.Charged, before Done) Reversal {
	t.Helper()
	v, err := r.Reverse(charged, "CNY", before)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestReverse_TakesBackWhatWasNotTakenBefore(t *testing.T) {
	t.Parallel()
	charged := someCharged()
	first := reverse(t, Refund{Order: Order{OrderID: "o-1"}, RefundID: "r-1", Lines: []RefundLine{{"cup", 1}}}, charged, Done{})
	want := Refunded{
		OrderID: "o-1", RefundID: "r-1", AmountMinor: 900, Currency: "CNY",
		Lines: []RefundedLine{{"cup", 1, 900, 100}}, Shipping: []RefundedParcel{}, Returned: []string{},
		Bearers: []pricing.BearerShare{{Party: "merchant", DiscountMinor: 20}, {Party: "platform", DiscountMinor: 80}},
	}
	if diff := cmp.Diff(want, first.Refunded); diff != "" {
		t.Errorf("first (-want +got):\n%s", diff)
	}
	second := reverse(t, Refund{Lines: []RefundLine{{"pan", 1}, {"cup", 2}}, Shipping: true}, charged, first.Done)
	want = Refunded{
		AmountMinor: 1_800 + 500 + 200, Currency: "CNY", Full: true,
		Lines:    []RefundedLine{{"cup", 2, 1_800, 200}, {"pan", 1, 500, 0}},
		Shipping: []RefundedParcel{{"m", 200, 400}}, Returned: []string{},
		Bearers: []pricing.BearerShare{{Party: "merchant", DiscountMinor: 40}, {Party: "platform", DiscountMinor: 160 + 400}},
	}
	if diff := cmp.Diff(want, second.Refunded); diff != "" {
		t.Errorf("second (-want +got):\n%s", diff)
	}
	if len(first.Done.Units) != 1 || first.Done.Shipping {
		t.Errorf("the second has changed what the first has done: %+v", first.Done)
	}
}

func TestReverse_RefusesMoreThanIsLeft(t *testing.T) {
	t.Parallel()
	charged, free := someCharged(), someCharged()
	free.Shipping[0] = pricing.ChargedParcel{Merchant: "m"}
	done := Done{Units: map[string]int64{"cup": 2}, Shipping: true}
	for name, c := range map[string]struct {
		charged pricing.Charged
		refund  Refund
		want    LineError
	}{
		"too many units":          {charged, Refund{Lines: []RefundLine{{"cup", 2}}}, LineError{"cup", 1}},
		"too many together":       {charged, Refund{Lines: []RefundLine{{"cup", 1}, {"cup", 1}}}, LineError{"cup", 0}},
		"most":                    {charged, Refund{Lines: []RefundLine{{"cup", 1<<63 - 1}}}, LineError{"cup", 1}},
		"no units":                {charged, Refund{Lines: []RefundLine{{"cup", 0}}}, LineError{"cup", 1}},
		"fewer than none":         {charged, Refund{Lines: []RefundLine{{"cup", -1}}}, LineError{"cup", 1}},
		"unknown line":            {charged, Refund{Lines: []RefundLine{{"cup", 1}, {"x", 1}}}, LineError{"x", 0}},
		"shipping again":          {charged, Refund{Lines: []RefundLine{{"cup", 1}}, Shipping: true}, LineError{}},
		"nothing":                 {charged, Refund{}, LineError{}},
		"free shipping alone":     {free, Refund{Shipping: true}, LineError{}},
		"no shipping there alone": {pricing.Charged{}, Refund{Shipping: true}, LineError{}},
	} {
		_, err := c.refund.Reverse(c.charged, "CNY", done)
		var got *LineError
		if !errors.As(err, &got) || *got != c.want {
			t.Errorf("%s: %v, want %+v", name, err, c.want)
		}
	}
}

func TestReverse_FreeShippingIsNeitherRefundedNorMissedByAFullRefund(t *testing.T) {
	t.Parallel()
	free := someCharged()
	free.Shipping[0] = pricing.ChargedParcel{Merchant: "m"}
	for _, named := range []bool{false, true} {
		v := reverse(t, Refund{Lines: []RefundLine{{"cup", 3}, {"pan", 1}}, Shipping: named}, free, Done{})
		if !v.Full || len(v.Shipping) != 0 || v.AmountMinor != 3_200 {
			t.Errorf("shipping named %v: %+v", named, v.Refunded)
		}
	}
	if v := reverse(t, Refund{Lines: []RefundLine{{"cup", 3}, {"pan", 1}}}, someCharged(), Done{}); v.Full {
		t.Error("full without the shipping that was paid")
	}
}

// In whatever steps an order is refunded, money and discounts add up to its price, and
// the ledger to what was given.
func TestReverse_EveryPartitionSumsToTheWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		charged := drawCharged(rt)
		left, net, given := map[string]int64{}, int64(0), map[LedgerRow]int64{}
		add := func(shares []pricing.Share) {
			for _, s := range shares {
				part := s.LineID + s.Merchant
				given[LedgerRow{CouponID: s.CouponID, Parcel: s.Parcel, PartID: part, Party: s.Party}] -= s.DiscountMinor
			}
		}
		for _, l := range charged.Lines {
			left[l.ID] = l.Quantity
			net += l.NetMinor
			add(l.Shares)
		}
		for _, p := range charged.Shipping {
			net += p.NetMinor
			add(p.Shares)
		}
		var done Done
		money := int64(0)
		for full := false; !full; {
			r := Refund{Shipping: !done.Shipping && rapid.Bool().Draw(rt, "shipping")}
			for id, n := range left {
				if units := rapid.Int64Range(0, n).Draw(rt, "units"); units > 0 {
					r.Lines = append(r.Lines, RefundLine{id, units})
					left[id] -= units
				}
			}
			if len(r.Lines) == 0 && !r.Shipping { // nothing was drawn: all the rest
				r = rest(left, done)
			}
			v, err := r.Reverse(charged, "CNY", done)
			if err != nil {
				rt.Fatal(err)
			}
			money += v.AmountMinor
			discount := int64(0)
			for _, row := range v.Ledger {
				if row.AmountMinor >= 0 || row.Event != LedgerRefund {
					rt.Fatalf("row %+v", row)
				}
				discount -= row.AmountMinor
				key := row
				key.AmountMinor, key.Event = 0, ""
				given[key] -= row.AmountMinor
			}
			shown := int64(0)
			for _, l := range v.Lines {
				shown += l.DiscountMinor
			}
			for _, p := range v.Shipping {
				shown += p.DiscountMinor
			}
			if shown != discount {
				rt.Fatalf("the answer reverses %d, the ledger %d", shown, discount)
			}
			done, full = v.Done, v.Full
		}
		maps.DeleteFunc(given, func(_ LedgerRow, amount int64) bool { return amount == 0 })
		if money != net || len(given) != 0 {
			rt.Fatalf("%d of %d went back; of the ledger is left %v", money, net, given)
		}
	})
}

// rest is a refund of what is left.
func rest(left map[string]int64, done Done) Refund {
	r := Refund{Shipping: !done.Shipping}
	for id, n := range left {
		if n > 0 {
			r.Lines = append(r.Lines, RefundLine{id, n})
			left[id] = 0
		}
	}
	return r
}

func drawCharged(rt *rapid.T) pricing.Charged {
	charged := pricing.Charged{Shipping: []pricing.ChargedParcel{{Merchant: "m", FeeMinor: 600, NetMinor: 100, Shares: []pricing.Share{
		{CouponID: "s", Merchant: "m", Parcel: true, Party: "p", DiscountMinor: 301},
		{CouponID: "s", Merchant: "m", Parcel: true, Party: "q", DiscountMinor: 199},
	}}}}
	for _, id := range []string{"x", "y"} {
		line := pricing.ChargedLine{ID: id, Quantity: rapid.Int64Range(1, 7).Draw(rt, "quantity"), UnitPriceMinor: rapid.Int64Range(0, 999).Draw(rt, "price")}
		line.NetMinor = line.Quantity * line.UnitPriceMinor
		for _, c := range []string{"a", "b"} {
			for _, party := range []string{"p", "q"} {
				discount := rapid.Int64Range(0, line.NetMinor).Draw(rt, "discount")
				if discount > 0 {
					line.NetMinor -= discount
					line.Shares = append(line.Shares, pricing.Share{CouponID: c, LineID: id, Party: party, DiscountMinor: discount})
				}
			}
		}
		charged.Lines = append(charged.Lines, line)
	}
	return charged
}
