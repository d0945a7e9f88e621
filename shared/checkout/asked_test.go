package checkout

import (
	"slices"
	"testing"
	"time"

	"sluice/shared/pricing"
)

func someLock() Lock {
	return Lock{
		Order: Order{UserID: "ann", OrderID: "o-1"}, CouponIDs: []string{"b", "a"}, Hold: time.Minute,
		Cart: pricing.Cart{Currency: "CNY",
			Lines: []pricing.Line{
				{ID: "2", Merchant: "m", SKU: "s", Category: "c", Quantity: 1, UnitPriceMinor: 5},
				{ID: "1", Merchant: "m", SKU: "s", Category: "c", Quantity: 1, UnitPriceMinor: 5},
			},
			Shipping: []pricing.Parcel{{Merchant: "n", FeeMinor: 3}, {Merchant: "m", FeeMinor: 4}}},
	}
}

func TestLockAsked_IsTheSameInWhateverOrder(t *testing.T) {
	t.Parallel()
	l, other := someLock(), someLock()
	slices.Reverse(other.CouponIDs)
	slices.Reverse(other.Cart.Lines)
	slices.Reverse(other.Cart.Shipping)
	other.Merchant, other.Cart.At = "shop", time.Unix(1, 0)
	if l.Asked() != other.Asked() {
		t.Error("the same in another order, asked by a merchant, is told apart")
	}
	if l.CouponIDs[0] != "b" || l.Cart.Lines[0].ID != "2" {
		t.Error("the caller's lists have another order now")
	}
}

func TestLockAsked_TellsEveryFieldApart(t *testing.T) {
	t.Parallel()
	seen := map[[32]byte]string{someLock().Asked(): "as it is"}
	for name, change := range map[string]func(*Lock){
		"coupon":         func(l *Lock) { l.CouponIDs[0] = "c" },
		"fewer coupons":  func(l *Lock) { l.CouponIDs = l.CouponIDs[1:] },
		"hold":           func(l *Lock) { l.Hold++ },
		"currency":       func(l *Lock) { l.Cart.Currency = "USD" },
		"line id":        func(l *Lock) { l.Cart.Lines[0].ID = "3" },
		"line merchant":  func(l *Lock) { l.Cart.Lines[0].Merchant = "o" },
		"sku":            func(l *Lock) { l.Cart.Lines[0].SKU = "o" },
		"category":       func(l *Lock) { l.Cart.Lines[0].Category = "o" },
		"quantity":       func(l *Lock) { l.Cart.Lines[0].Quantity++ },
		"unit price":     func(l *Lock) { l.Cart.Lines[0].UnitPriceMinor++ },
		"no line":        func(l *Lock) { l.Cart.Lines = nil },
		"fee":            func(l *Lock) { l.Cart.Shipping[0].FeeMinor++ },
		"parcel":         func(l *Lock) { l.Cart.Shipping[0].Merchant = "o" },
		"fewer parcels":  func(l *Lock) { l.Cart.Shipping = l.Cart.Shipping[1:] },
		"fields swapped": func(l *Lock) { l.Cart.Lines[0].SKU, l.Cart.Lines[0].Category = "c", "s" },
	} {
		l := someLock()
		change(&l)
		if before, known := seen[l.Asked()]; known {
			t.Errorf("%s and %s ask for the same", name, before)
		}
		seen[l.Asked()] = name
	}
}

func TestRefundAsked_IsTheLinesUnitsAndShipping(t *testing.T) {
	t.Parallel()
	r := Refund{RefundID: "r-1", Lines: []RefundLine{{"a", 1}, {"b", 2}}}
	same := Refund{RefundID: "r-2", Lines: []RefundLine{{"b", 2}, {"a", 1}}}
	if r.Asked() != same.Asked() {
		t.Error("another order of lines is told apart")
	}
	for name, other := range map[string]Refund{
		"shipping": {Lines: r.Lines, Shipping: true},
		"units":    {Lines: []RefundLine{{"a", 2}, {"b", 1}}},
		"line":     {Lines: []RefundLine{{"a", 1}, {"c", 2}}},
		"fewer":    {Lines: r.Lines[:1]},
		"none":     {},
	} {
		if other.Asked() == r.Asked() {
			t.Errorf("%s: asks for the same", name)
		}
	}
}
