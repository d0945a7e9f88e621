package pricing_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/shared/coupon"
	"sluice/shared/pricing"
)

func TestBestOfAll_AnswersWhatBestDoes(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(20261201, 30))
	for range 20 {
		c := unevenCart(r, 20)
		c.Coupons = stackable(30, coupon.KindAmount, 500, mixed(r, 20))
		c = c.WithDefaults(midday)
		want, sets, err := pricing.BestOfAll(c)
		if err != nil {
			t.Fatal(err)
		}
		got, err := pricing.Best(c)
		if err != nil {
			t.Fatal(err)
		}
		if want.Nodes != sets {
			t.Errorf("%d nodes, %d sets", want.Nodes, sets)
		}
		want.Nodes = got.Nodes
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-all +best):\n%s", diff)
		}
	}
}

func TestBestOfAll_PricesEverySetThatTheRulesAllow(t *testing.T) {
	t.Parallel()
	for name, all := range map[string]struct {
		coupons []pricing.Coupon
		want    int64
	}{
		"none":               {nil, 1},
		"30 for goods":       {stackable(30, coupon.KindAmount, 5, nil), 4526}, // of 0 to 3
		"8 for goods, 3 not": {together(stackable(8, coupon.KindAmount, 5, nil), stackable(3, coupon.KindFreeShipping, 0, nil)), 93 * 4},
	} {
		c := evenCart(20)
		c.Coupons = all.coupons
		if _, sets, err := pricing.BestOfAll(c.WithDefaults(midday)); err != nil || sets != all.want {
			t.Errorf("%s: %d sets, %v, want %d", name, sets, err, all.want)
		}
	}
}
