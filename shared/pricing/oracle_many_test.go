package pricing_test

import (
	"testing"

	"sluice/shared/devstack"
	"sluice/shared/pricing"
)

// eligible are a cart's coupons that may be used, by the oracle.
func eligible(c pricing.Cart) (n int) {
	o := newOracle(c)
	for _, k := range c.Coupons {
		if o.unfit(k) == "" {
			n++
		}
	}
	return n
}

func TestBest_OfUpToThirtyCouponsIsAlwaysExact(t *testing.T) {
	t.Parallel()
	for seed, carts := uint64(1_000_000), 0; carts < 8; seed++ {
		c := newCarts(seed).cart(40)
		if n := eligible(c); n < 20 || n > 30 {
			continue
		}
		carts++
		if d := difference(t, c); d != "" {
			t.Fatalf("seed %d: %s\n%s", seed, d, inJSON(smaller(t, c)))
		}
	}
}

func TestBest_OfMoreCouponsThanItTriesSaysWhatItMayMiss(t *testing.T) {
	t.Parallel()
	n := 5
	if devstack.Long() {
		n = 100
	}
	for seed, carts := uint64(2_000_000), 0; carts < n; seed++ {
		c := newCarts(seed).cart(100)
		if len(c.Lines) > 3 || eligible(c) <= 64 {
			continue
		}
		for i := range c.Coupons { // no more combinations than the oracle has time for
			if i%3 > 0 {
				c.Coupons[i].StackWith = nil
			}
		}
		carts++
		got, err := pricing.Best(c)
		if err != nil {
			t.Fatal(err)
		}
		if got.Exact || got.Method != pricing.MethodGreedy || got.MaxMissed == nil {
			t.Fatalf("seed %d: exact %v, method %s, max missed %v", seed, got.Exact, got.Method, got.MaxMissed)
		}
		checkSums(t, c, got)
		best := newOracle(c).best().PayableMinor
		if missed := got.PayableMinor - best; missed < 0 || missed > *got.MaxMissed {
			t.Errorf("seed %d: it is %d from the best, and says at most %d", seed, missed, *got.MaxMissed)
		}
	}
}
