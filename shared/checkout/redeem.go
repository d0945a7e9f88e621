package checkout

import (
	"cmp"
	"slices"
	"time"

	"sluice/shared/coupon"
)

// Held is how a redeem finds a coupon that the order had locked.
type Held struct {
	CouponID      string
	DiscountMinor int64 // that the quote has of it
	Gone          bool  // another order has it, or it is void
	Late          bool  // it is free, but its lock was gone
	IfGone        coupon.IfGone
}

// Redeem decides what becomes of an order's coupons. A gone one whose terms say refund
// has none of them redeemed: the order is to be refunded. For other gone ones the
// discount stands, or the buyer tops it up.
func Redeem(orderID, currency string, held []Held, at time.Time) Redeemed {
	r := Redeemed{
		OrderID: orderID, Result: ResultRedeemed, Currency: currency, At: at,
		Redeemed: []RedeemedCoupon{}, Missing: []MissingCoupon{},
	}
	for _, h := range sorted(held, func(a, b Held) int { return cmp.Compare(a.CouponID, b.CouponID) }) {
		if !h.Gone {
			r.Redeemed = append(r.Redeemed, RedeemedCoupon{CouponID: h.CouponID, DiscountMinor: h.DiscountMinor, Late: h.Late})
			continue
		}
		r.Missing = append(r.Missing, MissingCoupon{CouponID: h.CouponID, DiscountMinor: h.DiscountMinor, Policy: h.IfGone})
		if h.IfGone == coupon.GoneTopUp {
			r.TopUpMinor += h.DiscountMinor // at most the cart's discount: no overflow
		}
	}
	if slices.ContainsFunc(r.Missing, func(m MissingCoupon) bool { return m.Policy == coupon.GoneRefund }) {
		r.Result, r.Redeemed, r.TopUpMinor = ResultRefund, []RedeemedCoupon{}, 0
	}
	return r
}

// Becomes is the state of the order then.
func (r Redeemed) Becomes() State {
	if r.Result == ResultRefund {
		return StateRefused
	}
	return StateRedeemed
}

// NotGiven are the coupons whose discount the buyer has not got after all.
func (r Redeemed) NotGiven() []string {
	var ids []string
	for _, m := range r.Missing {
		if m.Policy == coupon.GoneTopUp {
			ids = append(ids, m.CouponID)
		}
	}
	return ids
}
