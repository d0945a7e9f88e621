package pricing_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"sluice/shared/coupon"
	"sluice/shared/pricing"
)

// midday is when carts of tests are priced.
var midday = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// evenCart has lines of 100.00, each of an article and a category of its own, of four
// merchants, each of which sends a parcel.
func evenCart(lines int) pricing.Cart {
	c := pricing.Cart{Currency: "CNY"}
	for i := range lines {
		c.Lines = append(c.Lines, pricing.Line{
			ID: fmt.Sprintf("l%05d", i), Merchant: fmt.Sprint("m", i%4), SKU: fmt.Sprint("s", i), Category: fmt.Sprint("c", i),
			Quantity: 1, UnitPriceMinor: 10000,
		})
	}
	for i := range 4 {
		c.Shipping = append(c.Shipping, pricing.Parcel{Merchant: fmt.Sprint("m", i), FeeMinor: 800})
	}
	return c.WithDefaults(midday)
}

// unevenCart is evenCart with prices and quantities that divide badly.
func unevenCart(r *rand.Rand, lines int) pricing.Cart {
	c := evenCart(lines)
	for i := range c.Lines {
		c.Lines[i].Quantity, c.Lines[i].UnitPriceMinor = 1+r.Int64N(5), 99+r.Int64N(20000)
	}
	return c
}

// stackable are n coupons that all combine with each other, of a kind, each in a group
// of its own; change may change them.
func stackable(n int, kind coupon.Kind, value int64, change func(i int, c *pricing.Coupon)) []pricing.Coupon {
	all := make([]pricing.Coupon, n)
	groups := make([]string, n)
	for i := range groups {
		groups[i] = fmt.Sprint(kind, "-", i)
	}
	for i := range all {
		all[i] = pricing.Coupon{ID: fmt.Sprintf("%s-%04d", kind, i), Snapshot: coupon.Snapshot{Kind: kind, Value: value}}
		all[i].Group, all[i].StackWith = groups[i], groups
		if change != nil {
			change(i, &all[i])
		}
	}
	return all
}

// together makes all coupons of the lists combine.
func together(lists ...[]pricing.Coupon) []pricing.Coupon {
	var all []pricing.Coupon
	var groups []string
	for _, list := range lists {
		for _, c := range list {
			all = append(all, c)
			groups = append(groups, c.Group)
		}
	}
	for i := range all {
		all[i].StackWith = groups
	}
	return all
}

// crossing gives a coupon ten or so articles of twenty, others than its neighbours.
func crossing(r *rand.Rand, lines int) func(int, *pricing.Coupon) {
	return func(_ int, c *pricing.Coupon) {
		for s := range lines {
			if r.IntN(2) == 0 {
				c.Scope.SKUs = append(c.Scope.SKUs, fmt.Sprint("s", s))
			}
		}
	}
}

// mixed makes a coupon one of any kind, layer, scope, threshold and end.
func mixed(r *rand.Rand, lines int) func(int, *pricing.Coupon) {
	cross := crossing(r, lines)
	return func(i int, c *pricing.Coupon) {
		switch r.IntN(5) {
		case 0, 1:
			c.Kind, c.Value, c.CapMinor = coupon.KindPercent, 50+r.Int64N(50), r.Int64N(2)*r.Int64N(5000)
		case 2, 3:
			c.Kind, c.Value = coupon.KindAmount, 1+r.Int64N(9000)
		default:
			c.Kind, c.Value, c.CapMinor = coupon.KindFreeShipping, 0, r.Int64N(2000)
		}
		if r.IntN(2) == 0 {
			c.Layer = coupon.LayerMerchant
			c.Scope.Merchants = []string{fmt.Sprint("m", r.IntN(4))}
		} else if r.IntN(2) == 0 {
			cross(i, c)
		}
		if r.IntN(2) == 0 {
			c.EndsAt = midday.AddDate(0, 0, 1+r.IntN(3))
		}
		c.MinAmountCents = r.Int64N(30000)
		c.Bearers = []coupon.Bearer{{Party: "platform", BPS: 3333}, {Party: "merchant", BPS: 6667}}
	}
}
