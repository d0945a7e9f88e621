package pricing_test

import (
	"slices"

	"sluice/shared/pricing"
)

// part is what one coupon took of one line, and what of that each party bears.
type part struct {
	couponID string
	parties  []pricing.Share // in listed order
	sum      int64
}

// partsOf a line or parcel, in the order of application, but those of some coupons.
func partsOf(shares []pricing.Share, without []string, of func(pricing.Share) bool) (parts []part) {
	for _, s := range shares {
		if !of(s) || slices.Contains(without, s.CouponID) {
			continue
		}
		if len(parts) == 0 || parts[len(parts)-1].couponID != s.CouponID {
			parts = append(parts, part{couponID: s.CouponID})
		}
		last := &parts[len(parts)-1]
		last.parties = append(last.parties, s)
		last.sum += s.DiscountMinor
	}
	return parts
}

// nested splits u by stored amounts: each has its part of what is left, rounded down,
// and the last one the rest.
func nested(u int64, stored []int64) []int64 {
	left := int64(0)
	for _, s := range stored {
		left += s
	}
	parts := make([]int64, len(stored))
	for i, s := range stored {
		switch {
		case i == len(stored)-1:
			parts[i] = u
		case left > 0:
			parts[i], _ = divide(u, s, 0, left)
		}
		u -= parts[i]
		left -= s
	}
	return parts
}

// back is what goes back of a line in total once k of its units are refunded: money, and
// of each stored share what is reversed.
func back(l pricing.Line, parts []part, k int64) (money int64, reversed []pricing.Share) {
	net, discounts := l.Quantity*l.UnitPriceMinor, make([]int64, len(parts))
	for i, p := range parts {
		discounts[i] = p.sum
		net -= p.sum
	}
	money, _ = divide(net, k, 0, l.Quantity)
	for i, d := range nested(k*l.UnitPriceMinor-money, discounts) {
		stored := make([]int64, len(parts[i].parties))
		for j, s := range parts[i].parties {
			stored[j] = s.DiscountMinor
		}
		for j, share := range nested(d, stored) {
			s := parts[i].parties[j]
			s.DiscountMinor = share
			reversed = append(reversed, s)
		}
	}
	return money, reversed
}
