package pricing_test

import (
	"math/rand/v2"
	"testing"

	"sluice/shared/coupon"
	"sluice/shared/pricing"
)

// benchCarts are carts to measure, and to hold the search's promises against: their
// names say coupons × lines.
func benchCarts() map[string]pricing.Cart {
	r := rand.New(rand.NewPCG(20261201, 1))
	with := func(c pricing.Cart, coupons []pricing.Coupon) pricing.Cart {
		c.Coupons = coupons
		return c.WithDefaults(midday)
	}
	return map[string]pricing.Cart{
		"3x5/random":                    with(unevenCart(r, 5), stackable(3, coupon.KindAmount, 500, mixed(r, 5))),
		"30x20/random":                  with(unevenCart(r, 20), stackable(30, coupon.KindAmount, 500, mixed(r, 20))),
		"30x20/ties":                    with(evenCart(20), stackable(30, coupon.KindAmount, 500, nil)),
		"30x20/ties-of-crossing-scopes": with(evenCart(20), stackable(30, coupon.KindAmount, 700, crossing(r, 20))),
		"30x20/ties-with-shipping": with(evenCart(20), together(
			stackable(23, coupon.KindAmount, 700, crossing(r, 20)), stackable(7, coupon.KindFreeShipping, 0, nil))),
		"30x20/percents-of-crossing-scopes": with(unevenCart(r, 20), stackable(30, coupon.KindPercent, 90, crossing(r, 20))),
		"30x10000/ties-of-crossing-scopes":  with(evenCart(10000), stackable(30, coupon.KindAmount, 70000, crossing(r, 10000))),
		"64x20/random":                      with(unevenCart(r, 20), stackable(64, coupon.KindAmount, 500, mixed(r, 20))),
		"64x20/ties-of-crossing-scopes":     with(evenCart(20), stackable(64, coupon.KindAmount, 700, crossing(r, 20))),
		"200x20/random":                     with(unevenCart(r, 20), stackable(200, coupon.KindAmount, 500, mixed(r, 20))),
		"200x20/ties-of-crossing-scopes":    with(evenCart(20), stackable(200, coupon.KindAmount, 700, crossing(r, 20))),
		"1000x1000/random":                  with(unevenCart(r, 1000), stackable(1000, coupon.KindAmount, 500, mixed(r, 1000))),
	}
}

func BenchmarkBest(b *testing.B) {
	for name, c := range benchCarts() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var nodes int64
			for b.Loop() {
				q, err := pricing.Best(c)
				if err != nil {
					b.Fatal(err)
				}
				nodes = q.Nodes
			}
			b.ReportMetric(float64(nodes), "nodes/op")
		})
	}
}
