package pricing_test

import (
	"math"
	"testing"

	"sluice/shared/coupon"
	"sluice/shared/pricing"
)

// The carts are worth comparing only if what may go wrong is in them often enough.
func TestOracle_CartsAreOfEveryKind(t *testing.T) {
	t.Parallel()
	const carts = 2_000
	found := map[string]int{}
	for i := range carts {
		r := newCarts(uint64(i))
		c := r.cart(2 + r.IntN(7))
		q := newOracle(c).best()
		for kind := range kindsOf(c, q) {
			found[kind]++
		}
	}
	for _, kind := range []string{"2 coupons", "3 coupons", "4 coupons", "all is free", "huge", "free line", "threshold met exactly", "tie broken by the end", "tie broken by the id",
		"currency", "not_started", "expired", "out_of_scope", "below_minimum", "no_effect", "not_best", "several bearers", "capped"} {
		if found[kind] < 6 {
			t.Errorf("of %d carts only %d are: %s", carts, found[kind], kind)
		}
	}
}

func kindsOf(c pricing.Cart, q pricing.Quote) map[string]bool {
	kinds := map[string]bool{"huge": q.PayableMinor+q.DiscountMinor > math.MaxInt64/4, "all is free": q.PayableMinor == 0 && q.DiscountMinor > 0, "several bearers": len(q.Bearers) > 1}
	switch len(q.Coupons) {
	case 2:
		kinds["2 coupons"] = true
	case 3:
		kinds["3 coupons"] = true
	case 4:
		kinds["4 coupons"] = true
	}
	for _, l := range c.Lines {
		kinds["free line"] = kinds["free line"] || l.UnitPriceMinor == 0
	}
	for _, r := range q.Rejected {
		kinds[string(r.Reason)] = true
	}
	o := newOracle(c)
	for _, k := range c.Coupons {
		total := carts{}.scopeOf(c, k.Snapshot)
		kinds["threshold met exactly"] = kinds["threshold met exactly"] || total > 0 && total == k.MinAmountCents
		for _, u := range q.Coupons {
			kinds["capped"] = kinds["capped"] || u.ID == k.ID && k.Kind != coupon.KindAmount && u.DiscountMinor == k.CapMinor
		}
		if len(q.Coupons) == 1 && o.unfit(k) == "" {
			one := o.apply([]pricing.Coupon{k})
			equal := len(one) == 1 && one[0].total == q.DiscountMinor && k.ID != q.Coupons[0].ID
			for _, used := range c.Coupons {
				if equal && used.ID == q.Coupons[0].ID {
					kinds["tie broken by the end"] = kinds["tie broken by the end"] || !used.EndsAt.Equal(k.EndsAt)
					kinds["tie broken by the id"] = kinds["tie broken by the id"] || used.EndsAt.Equal(k.EndsAt)
				}
			}
		}
	}
	for kind, is := range kinds {
		if !is {
			delete(kinds, kind)
		}
	}
	return kinds
}
