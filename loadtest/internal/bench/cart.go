package bench

import (
	"fmt"
	"math/rand/v2"
	"time"

	"sluice/shared/coupon"
	"sluice/shared/pricing"
)

const (
	quoteSeed      = 20261201
	cartLines      = 20
	cartCoupons    = 30
	cartMerchants  = 4
	parcelFeeMinor = 800
)

// randomCart has lines of several merchants at prices and quantities that divide badly,
// and coupons of all kinds, layers, scopes, thresholds and ends, which all combine: then
// there is most to try.
func randomCart(r *rand.Rand) pricing.Cart {
	cart := pricing.Cart{Currency: "CNY"}
	for i := range cartLines {
		cart.Lines = append(cart.Lines, pricing.Line{
			ID: fmt.Sprintf("line-%02d", i), Merchant: merchant(i % cartMerchants), SKU: sku(i), Category: "any",
			Quantity: 1 + r.Int64N(5), UnitPriceMinor: 99 + r.Int64N(20_000),
		})
	}
	for i := range cartMerchants {
		cart.Shipping = append(cart.Shipping, pricing.Parcel{Merchant: merchant(i), FeeMinor: parcelFeeMinor})
	}
	groups := make([]string, cartCoupons)
	for i := range groups {
		groups[i] = fmt.Sprint("group-", i)
	}
	now := time.Now()
	for i := range cartCoupons {
		c := pricing.Coupon{ID: fmt.Sprintf("coupon-%02d", i), Snapshot: randomTerms(r, now)}
		c.Group, c.StackWith = groups[i], groups
		cart.Coupons = append(cart.Coupons, c)
	}
	return cart.WithDefaults(now)
}

func merchant(i int) string { return fmt.Sprint("merchant-", i) }
func sku(i int) string      { return fmt.Sprint("sku-", i) }

// randomTerms are those of one coupon: two of five are percents, two amounts, one is for
// shipping; a half is of one merchant, a quarter of about every second article.
func randomTerms(r *rand.Rand, now time.Time) (s coupon.Snapshot) {
	switch r.IntN(5) {
	case 0, 1:
		s.Kind, s.Value, s.CapMinor = coupon.KindPercent, 50+r.Int64N(50), r.Int64N(2)*r.Int64N(5000)
	case 2, 3:
		s.Kind, s.Value = coupon.KindAmount, 1+r.Int64N(9000)
	default:
		s.Kind, s.CapMinor = coupon.KindFreeShipping, r.Int64N(2000)
	}
	switch r.IntN(4) {
	case 0, 1:
		s.Layer, s.Scope.Merchants = coupon.LayerMerchant, []string{merchant(r.IntN(cartMerchants))}
	case 2:
		for i := range cartLines {
			if r.IntN(2) == 0 {
				s.Scope.SKUs = append(s.Scope.SKUs, sku(i))
			}
		}
	}
	if r.IntN(2) == 0 {
		s.EndsAt = now.AddDate(0, 0, 1+r.IntN(3))
	}
	s.MinAmountCents = r.Int64N(30_000)
	s.Bearers = []coupon.Bearer{{Party: "platform", BPS: 3333}, {Party: "merchant", BPS: 6667}}
	return s
}
