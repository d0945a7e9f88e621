package pricing_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"sluice/shared/coupon"
	"sluice/shared/pricing"
)

const nodeBudget = 20_000

func best(t *testing.T, c pricing.Cart) pricing.Quote {
	t.Helper()
	q, err := pricing.Best(c)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func wantExact(t *testing.T, q pricing.Quote) {
	t.Helper()
	if !q.Exact || q.Method != pricing.MethodExact || q.MaxMissed != nil || q.Nodes < 1 || q.Nodes > nodeBudget {
		t.Errorf("exact %v, method %s, max_missed %v, %d nodes", q.Exact, q.Method, q.MaxMissed, q.Nodes)
	}
}

// wantGreedy also looks at the bound: what is payable less max_missed is what no set can reach.
func wantGreedy(t *testing.T, q pricing.Quote, floor int64) {
	t.Helper()
	if q.Exact || q.Method != pricing.MethodGreedy || q.MaxMissed == nil || q.Nodes > nodeBudget {
		t.Fatalf("exact %v, method %s, max_missed %v, %d nodes", q.Exact, q.Method, q.MaxMissed, q.Nodes)
	}
	if *q.MaxMissed < 0 || q.PayableMinor-*q.MaxMissed > floor {
		t.Errorf("payable %d, max_missed %d: but %d may be payable", q.PayableMinor, *q.MaxMissed, floor)
	}
}

// Every two combine, and every three take the same off: so every set of three has to be
// looked at, and the ids decide.
func TestSearch_ThirtyCouponsOfExactTiesFitTheBudget(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for name, change := range map[string]func(int, *pricing.Coupon){"one scope": nil, "crossing scopes": crossing(r, 20)} {
		c := evenCart(20)
		c.Coupons = stackable(30, coupon.KindAmount, 700, change)
		q := best(t, c.WithDefaults(midday))
		wantExact(t, q)
		if q.DiscountMinor != 2100 || len(q.Coupons) != 3 || q.Coupons[0].ID != "amount-0000" || q.Coupons[2].ID != "amount-0002" {
			t.Errorf("%s: %d off by %v", name, q.DiscountMinor, q.Coupons)
		}
		if q.Nodes < 4000 {
			t.Errorf("%s: %d nodes: these are not ties", name, q.Nodes)
		}
	}
}

// However thirty are divided, coupons for shipping never multiply the tree.
func TestSearch_ThirtyCouponsOfBothKindsFitTheBudget(t *testing.T) {
	t.Parallel()
	for shipping := range 31 {
		c := evenCart(20)
		c.Coupons = together(stackable(30-shipping, coupon.KindAmount, 700, nil), stackable(shipping, coupon.KindFreeShipping, 0, nil))
		q := best(t, c.WithDefaults(midday))
		wantExact(t, q)
		want := int64(min(30-shipping, 3))*700 + int64(min(shipping, 1))*3200
		if q.DiscountMinor != want {
			t.Errorf("%d for shipping: %d off, want %d", shipping, q.DiscountMinor, want)
		}
	}
}

func TestSearch_OfBenchmarkedCartsKeepsItsPromises(t *testing.T) {
	t.Parallel()
	for name, c := range benchCarts() {
		if strings.Contains(name, "000") {
			continue // only for their size
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := best(t, c)
			switch n := len(c.Coupons); {
			case n <= 30:
				wantExact(t, q)
			case n > 64:
				wantGreedy(t, q, q.PayableMinor)
			}
		})
	}
}

func TestSearch_BeyondTheBudgetItSaysWhatItMayMiss(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	c := evenCart(20)
	c.Coupons = stackable(64, coupon.KindAmount, 700, crossing(r, 20))
	q := best(t, c.WithDefaults(midday))
	wantGreedy(t, q, 20*10000+4*800-2100)
	if q.DiscountMinor != 2100 || q.Nodes != nodeBudget {
		t.Errorf("%d off after %d nodes", q.DiscountMinor, q.Nodes)
	}
}

func TestSearch_OverSixtyFourEligibleItIsGreedy(t *testing.T) {
	t.Parallel()
	for _, n := range []int{65, 200} {
		c := evenCart(20)
		c.Coupons = stackable(n, coupon.KindAmount, 700, func(i int, k *pricing.Coupon) { k.Value += int64(i) })
		q := best(t, c.WithDefaults(midday))
		want := 3*int64(700+n) - 6
		wantGreedy(t, q, 20*10000+4*800-want)
		if q.DiscountMinor != want {
			t.Errorf("%d coupons: %d off, want %d", n, q.DiscountMinor, want)
		}
	}
}

// What may be missed is no more than what combines: nothing, where nothing does.
func TestSearch_OverSixtyFourEligibleTheBoundKnowsWhatCombines(t *testing.T) {
	t.Parallel()
	for _, bound := range []struct {
		coupons         []pricing.Coupon
		discount, reach int64 // what is taken off, and what could be by the bound
	}{
		{stackable(65, coupon.KindAmount, 700, func(_ int, k *pricing.Coupon) { k.StackWith = nil }), 700, 700},
		{stackable(65, coupon.KindFreeShipping, 0, func(_ int, k *pricing.Coupon) { k.CapMinor = 90 }), 90, 90},
		{stackable(66, coupon.KindAmount, 700, func(i int, k *pricing.Coupon) { k.StackWith = []string{fmt.Sprint("amount-", i^1)} }), 1400, 1400},
		{stackable(70, coupon.KindPercent, 90, nil), 54200, 60000},
		{together(stackable(65, coupon.KindAmount, 700, nil), stackable(2, coupon.KindFreeShipping, 0, nil)), 2100 + 3200, 2100 + 3200},
	} {
		c := evenCart(20)
		c.Coupons = bound.coupons
		q := best(t, c.WithDefaults(midday))
		wantGreedy(t, q, q.PayableMinor)
		if q.DiscountMinor != bound.discount || *q.MaxMissed != bound.reach-bound.discount {
			t.Errorf("%d off, at most %d missed, want %d and %d", q.DiscountMinor, *q.MaxMissed, bound.discount, bound.reach-bound.discount)
		}
	}
}

// What cannot be used at all does not count.
func TestSearch_SixtyFourEligibleOfManyAreSearched(t *testing.T) {
	t.Parallel()
	c := evenCart(20)
	c.Coupons = stackable(200, coupon.KindAmount, 700, func(i int, k *pricing.Coupon) {
		k.Value += int64(i)
		if i >= 64 {
			k.Currency = "USD"
		}
	})
	q := best(t, c.WithDefaults(midday))
	wantExact(t, q)
	if want := int64(3*700 + 63 + 62 + 61); q.DiscountMinor != want {
		t.Errorf("%d off, want %d", q.DiscountMinor, want)
	}
}

// A total of the largest int64 overflows no bound.
func TestSearch_OfTheLargestTotalIsExact(t *testing.T) {
	t.Parallel()
	const most = 1<<63 - 1
	c := pricing.Cart{Currency: "CNY", Lines: []pricing.Line{{ID: "l", Merchant: "m", Quantity: 1, UnitPriceMinor: most}}}
	wantExact(t, best(t, c.WithDefaults(midday)))
	c.Coupons = stackable(5, coupon.KindAmount, most-10, nil)
	q := best(t, c.WithDefaults(midday))
	wantExact(t, q)
	if q.PayableMinor != 0 || len(q.Coupons) != 2 {
		t.Errorf("payable %d by %v", q.PayableMinor, q.Coupons)
	}
	c.Coupons = stackable(3, coupon.KindPercent, 50, nil)
	if q = best(t, c.WithDefaults(midday)); q.PayableMinor != 1<<60 {
		t.Errorf("payable %d, want %d", q.PayableMinor, int64(1)<<60)
	}
}

// The best alone is in no best set: what is gained by two others is more than by it and any.
func TestSearch_FindsWhatGreedyMisses(t *testing.T) {
	t.Parallel()
	c := evenCart(1)
	c.Coupons = stackable(4, coupon.KindAmount, 300, nil)
	c.Coupons[0].Value, c.Coupons[0].StackWith = 400, []string{"amount-1"}
	c.Coupons[1].Value = 10
	q := best(t, c.WithDefaults(midday))
	wantExact(t, q)
	if q.DiscountMinor != 610 {
		t.Errorf("%d off, want 610", q.DiscountMinor)
	}
}

// misled are coupons of which the best alone, amount-0000, combines with nothing; so
// greedy stops there, and only the search finds a pair of others.
func misled(n int, change func(i int, k *pricing.Coupon)) []pricing.Coupon {
	return stackable(n, coupon.KindAmount, 300, func(i int, k *pricing.Coupon) {
		if change(i, k); i == 0 {
			k.Value, k.StackWith = 400, nil
		}
	})
}

func usedIDs(q pricing.Quote) string {
	var all []string
	for _, u := range q.Coupons {
		all = append(all, u.ID)
	}
	return strings.Join(all, " ")
}

// 1 combines with 2, 3 and 4, which are alike but for their ends.
func TestSearch_OfAlikeInAPairTheOneThatEndsFirstIsUsed(t *testing.T) {
	t.Parallel()
	for first := 2; first <= 4; first++ {
		c := evenCart(1)
		c.Coupons = misled(5, func(i int, k *pricing.Coupon) {
			k.EndsAt = midday.AddDate(0, 0, 9)
			if i == first {
				k.EndsAt = midday.AddDate(0, 0, 8)
			}
			if i > 1 {
				k.Group, k.StackWith = "alike", []string{"amount-1"}
			} else {
				k.StackWith = []string{"alike"}
			}
		})
		q := best(t, c.WithDefaults(midday))
		wantExact(t, q)
		if want := fmt.Sprintf("amount-0001 amount-000%d", first); usedIDs(q) != want {
			t.Errorf("used %s, want %s", usedIDs(q), want)
		}
	}
}

// 3 comes before 2, which is alike: it is of merchants.
func TestSearch_OfAlikeInAPairThatEndTogetherTheLesserIDIsUsed(t *testing.T) {
	t.Parallel()
	c := evenCart(1)
	c.Coupons = misled(4, func(i int, k *pricing.Coupon) {
		k.Layer = coupon.LayerMerchant
		switch i {
		case 1:
			k.StackWith = []string{"alike"}
		case 2:
			k.Layer = coupon.LayerPlatform
			fallthrough
		case 3:
			k.Group, k.StackWith = "alike", []string{"amount-1"}
		}
	})
	q := best(t, c.WithDefaults(midday))
	wantExact(t, q)
	if usedIDs(q) != "amount-0001 amount-0002" {
		t.Errorf("used %s", usedIDs(q))
	}
}

// 2 and 3 are alike, but 3 is about another line too.
func TestSearch_OfOneScopeWithinTheOthersBothAreTried(t *testing.T) {
	t.Parallel()
	c := evenCart(2)
	c.Coupons = misled(4, func(i int, k *pricing.Coupon) {
		k.StackWith = []string{"alike"}
		if i > 1 {
			k.Kind, k.Value, k.Group, k.StackWith = coupon.KindPercent, 90, "alike", []string{"amount-1"}
		}
	})
	c.Coupons[0].Value, c.Coupons[2].Scope.SKUs = 2100, []string{"s0"}
	q := best(t, c.WithDefaults(midday))
	wantExact(t, q)
	if q.DiscountMinor != 2300 || usedIDs(q) != "amount-0001 amount-0003" {
		t.Errorf("%d off by %s", q.DiscountMinor, usedIDs(q))
	}
}

// 1 and 2 take the same off, but combine with 3 and 4, each with one.
func TestSearch_AlikeWithOtherPartnersAreBothTried(t *testing.T) {
	t.Parallel()
	for better := 3; better <= 4; better++ {
		c := evenCart(1)
		c.Coupons = misled(5, func(i int, k *pricing.Coupon) {
			k.StackWith = []string{fmt.Sprint("amount-", []int{0, 3, 4, 1, 2}[i])}
			if i == better {
				k.Value++
			}
		})
		q := best(t, c.WithDefaults(midday))
		wantExact(t, q)
		if want := fmt.Sprintf("amount-000%d amount-000%d", better-2, better); usedIDs(q) != want {
			t.Errorf("used %s, want %s", usedIDs(q), want)
		}
	}
}

// Whatever greedy took, the pair gets the one for shipping that ends first.
func TestSearch_OfTiesForShippingTheOneThatEndsFirstIsUsed(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"free_shipping-0000", "free_shipping-0001", "free_shipping-0002"} {
		c := evenCart(1)
		c.Coupons = together(misled(3, func(int, *pricing.Coupon) {}), stackable(3, coupon.KindFreeShipping, 0, func(_ int, k *pricing.Coupon) {
			k.CapMinor, k.EndsAt = 50, midday.AddDate(0, 0, 9)
			if k.ID == first {
				k.EndsAt = midday.AddDate(0, 0, 8)
			}
		}))
		c.Coupons[0].StackWith = nil
		q := best(t, c.WithDefaults(midday))
		wantExact(t, q)
		if want := "amount-0001 amount-0002 " + first; usedIDs(q) != want {
			t.Errorf("used %s, want %s", usedIDs(q), want)
		}
	}
}

// Of two alike with one between them in the order, each may be the better one: they
// round differently before and after it.
func TestSearch_AlikeButNotNeighboursAreBothTried(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 7))
	differ := false
	for range 300 {
		c := unevenCart(r, 1+r.IntN(3))
		list := stackable(3, coupon.KindPercent, 50+r.Int64N(50), nil)
		list[2].Value, list[2].Group, list[2].StackWith = list[0].Value, list[0].Group, list[0].StackWith
		list[1].Value = 50 + r.Int64N(50)
		paid := [2]int64{}
		for k, without := range []int{2, 0} {
			c.Coupons = []pricing.Coupon{list[1], list[2-without]}
			q, err := pricing.Exactly(c.WithDefaults(midday))
			if err != nil {
				t.Fatal(err)
			}
			paid[k] = q.PayableMinor
		}
		differ = differ || paid[0] != paid[1]
		c.Coupons = list
		if q := best(t, c.WithDefaults(midday)); q.PayableMinor != min(paid[0], paid[1]) {
			t.Fatalf("payable %d, want the less of %v", q.PayableMinor, paid)
		}
	}
	if !differ {
		t.Error("none of the carts tells the two apart")
	}
}

func TestSearch_OfNeighboursAlikeTheOneThatEndsFirstIsUsed(t *testing.T) {
	t.Parallel()
	c := evenCart(2)
	c.Coupons = stackable(4, coupon.KindAmount, 500, func(i int, k *pricing.Coupon) {
		k.Group, k.EndsAt = "one", midday.AddDate(0, 0, []int{3, 1, 1, 2}[i])
	})
	q := best(t, c.WithDefaults(midday))
	wantExact(t, q)
	if len(q.Coupons) != 1 || q.Coupons[0].ID != "amount-0001" {
		t.Errorf("used %v", q.Coupons)
	}
}
