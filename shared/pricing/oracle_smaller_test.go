package pricing_test

import (
	"slices"
	"testing"

	"sluice/shared/coupon"
	"sluice/shared/pricing"
)

// smaller leaves out of a cart what its difference does not need.
func smaller(t testing.TB, c pricing.Cart) pricing.Cart {
	t.Helper()
	for again := true; again; {
		again = false
		for _, less := range reductions(c) {
			if inJSON(less) != inJSON(c) && difference(t, less) != "" {
				c, again = less, true
				break
			}
		}
	}
	return c
}

// reductions are carts with one thing less.
func reductions(c pricing.Cart) (all []pricing.Cart) {
	add := func(change func(*pricing.Cart)) {
		less := c
		less.Lines, less.Shipping, less.Coupons = slices.Clone(c.Lines), slices.Clone(c.Shipping), slices.Clone(c.Coupons)
		change(&less)
		all = append(all, less)
	}
	for i := range c.Coupons {
		add(func(c *pricing.Cart) { c.Coupons = slices.Delete(c.Coupons, i, i+1) })
	}
	for i := range c.Lines {
		add(func(c *pricing.Cart) { c.Lines = slices.Delete(c.Lines, i, i+1) })
	}
	for i := range c.Shipping {
		add(func(c *pricing.Cart) { c.Shipping = slices.Delete(c.Shipping, i, i+1) })
	}
	for i := range c.Lines {
		add(func(c *pricing.Cart) { c.Lines[i].Quantity = 1 })
		add(func(c *pricing.Cart) { c.Lines[i].UnitPriceMinor /= 2 })
		add(func(c *pricing.Cart) { c.Lines[i].UnitPriceMinor -= c.Lines[i].UnitPriceMinor % 10 })
	}
	for i := range c.Shipping {
		add(func(c *pricing.Cart) { c.Shipping[i].FeeMinor /= 2 })
	}
	for i := range c.Coupons {
		add(func(c *pricing.Cart) { c.Coupons[i].MinAmountCents = 0 })
		add(func(c *pricing.Cart) { c.Coupons[i].CapMinor = 0 })
		add(func(c *pricing.Cart) { c.Coupons[i].Scope = coupon.Scope{} })
		add(func(c *pricing.Cart) { c.Coupons[i].Layer = coupon.LayerPlatform })
		add(func(c *pricing.Cart) {
			c.Coupons[i].Bearers = []coupon.Bearer{{Party: "platform", BPS: coupon.FullBPS}}
		})
		add(func(c *pricing.Cart) { c.Coupons[i].StartsAt, c.Coupons[i].EndsAt = noon, noon.AddDate(0, 0, 1) })
		if c.Coupons[i].Kind == coupon.KindAmount {
			add(func(c *pricing.Cart) { c.Coupons[i].Value = max(1, c.Coupons[i].Value/2) })
		}
	}
	return all
}
