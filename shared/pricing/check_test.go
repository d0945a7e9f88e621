package pricing_test

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"sluice/shared/coupon"
	"sluice/shared/pricing"
)

// sound is a cart of which nothing is refused.
func sound() pricing.Cart {
	c := evenCart(4)
	c.Coupons = stackable(3, coupon.KindAmount, 500, nil)
	return c.WithDefaults(midday)
}

func TestBest_RefusesByField(t *testing.T) {
	t.Parallel()
	later := midday.Add(time.Hour)
	for _, refused := range []struct {
		field  string
		change func(*pricing.Cart)
	}{
		{"currency", func(c *pricing.Cart) { c.Currency = "" }},
		{"currency", func(c *pricing.Cart) { c.Currency = "cny" }},
		{"lines[0].id", func(c *pricing.Cart) { c.Lines[0].ID = "" }},
		{"lines[3].id", func(c *pricing.Cart) { c.Lines[3].ID = c.Lines[1].ID }},
		{"lines[2].quantity", func(c *pricing.Cart) { c.Lines[2].Quantity = 0 }},
		{"lines[2].quantity", func(c *pricing.Cart) { c.Lines[2].Quantity = -1 }},
		{"lines[1].unit_price", func(c *pricing.Cart) { c.Lines[1].UnitPriceMinor = -1 }},
		{"lines[1].unit_price", func(c *pricing.Cart) { c.Lines[1].Quantity, c.Lines[1].UnitPriceMinor = math.MaxInt64, 2 }},
		{"lines[1].unit_price", func(c *pricing.Cart) { c.Lines[1].Quantity, c.Lines[1].UnitPriceMinor = 1<<32, 1<<32 }},
		{"lines[1].unit_price", func(c *pricing.Cart) { c.Lines[1].UnitPriceMinor = math.MaxInt64 }},
		{"shipping[1].fee", func(c *pricing.Cart) { c.Shipping[1].FeeMinor = -1 }},
		{"shipping[0].fee", func(c *pricing.Cart) { c.Shipping[0].FeeMinor = math.MaxInt64 - 39999 }},
		{"shipping[2].merchant", func(c *pricing.Cart) { c.Shipping[2].Merchant = c.Shipping[0].Merchant }},
		{"coupons[1].id", func(c *pricing.Cart) { c.Coupons[1].ID = "" }},
		{"coupons[2].id", func(c *pricing.Cart) { c.Coupons[2].ID = c.Coupons[0].ID }},
		{"coupons[1].kind", func(c *pricing.Cart) { c.Coupons[1].Kind = "gift" }},
		{"coupons[1].value", func(c *pricing.Cart) { c.Coupons[1].Value = 0 }},
		{"coupons[1].value", func(c *pricing.Cart) { c.Coupons[1].Kind, c.Coupons[1].Value = coupon.KindPercent, 0 }},
		{"coupons[1].value", func(c *pricing.Cart) { c.Coupons[1].Kind, c.Coupons[1].Value = coupon.KindPercent, 101 }},
		{"coupons[1].value", func(c *pricing.Cart) { c.Coupons[1].Kind, c.Coupons[1].Value = coupon.KindFreeShipping, 1 }},
		{"coupons[1].min_amount", func(c *pricing.Cart) { c.Coupons[1].MinAmountCents = -1 }},
		{"coupons[1].cap", func(c *pricing.Cart) { c.Coupons[1].CapMinor = 1 }},
		{"coupons[1].cap", func(c *pricing.Cart) { c.Coupons[1].CapMinor = -1 }},
		{"coupons[1].layer", func(c *pricing.Cart) { c.Coupons[1].Layer = "bank" }},
		{"coupons[1].currency", func(c *pricing.Cart) { c.Coupons[1].Currency = "?" }},
		{"coupons[1].ends_at", func(c *pricing.Cart) { c.Coupons[1].StartsAt, c.Coupons[1].EndsAt = later, later }},
		{"coupons[1].scope.skus[1]", func(c *pricing.Cart) { c.Coupons[1].Scope.SKUs = []string{"a", "a"} }},
		{"coupons[1].bearers", func(c *pricing.Cart) { c.Coupons[1].Bearers = []coupon.Bearer{} }},
		{"coupons[1].bearers", func(c *pricing.Cart) { c.Coupons[1].Bearers = []coupon.Bearer{{Party: "a", BPS: 9999}} }},
		{"coupons[1].bearers[0].bps", func(c *pricing.Cart) {
			c.Coupons[1].Bearers = []coupon.Bearer{{Party: "a", BPS: 0}, {Party: "b", BPS: 10000}}
		}},
		{"coupons[1].bearers", func(c *pricing.Cart) {
			c.Coupons[1].Bearers = []coupon.Bearer{{Party: "a", BPS: 1}, {Party: "b", BPS: 10000}}
		}},
	} {
		c := sound()
		refused.change(&c)
		_, err := pricing.Best(c)
		_, errExactly := pricing.Exactly(c)
		for _, err := range []error{err, errExactly} {
			invalid, is := errors.AsType[*pricing.InvalidError](err)
			if !is || invalid.Field != refused.field || invalid.Detail == "" {
				t.Errorf("got %v, want %s refused", err, refused.field)
			}
		}
	}
}

func TestBest_AcceptsEveryBound(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*pricing.Cart){
		"as it is":      func(*pricing.Cart) {},
		"free":          func(c *pricing.Cart) { c.Lines[0].UnitPriceMinor, c.Shipping[0].FeeMinor = 0, 0 },
		"largest total": func(c *pricing.Cart) { c.Shipping[0].FeeMinor = math.MaxInt64 - 40000 - 3*800 },
		"percent 1": func(c *pricing.Cart) {
			c.Coupons[0].Kind, c.Coupons[0].Value, c.Coupons[0].CapMinor = coupon.KindPercent, 1, 1
		},
		"percent 100":   func(c *pricing.Cart) { c.Coupons[0].Kind, c.Coupons[0].Value = coupon.KindPercent, 100 },
		"largest value": func(c *pricing.Cart) { c.Coupons[0].Value, c.Coupons[1].MinAmountCents = math.MaxInt64, math.MaxInt64 },
		"no policy":     func(c *pricing.Cart) { c.Coupons[0].IfGone = "" },
	} {
		c := sound()
		change(&c)
		q, err := pricing.Best(c)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		wantSums(t, q)
	}
}

func TestWithDefaults_FillsWhatIsAbsentInACopy(t *testing.T) {
	t.Parallel()
	c := pricing.Cart{Currency: "USD", Coupons: make([]pricing.Coupon, 2)}
	later, bearers := midday.Add(time.Hour), []coupon.Bearer{{Party: "brand", BPS: coupon.FullBPS}}
	c.Coupons[1].Terms = coupon.Terms{Layer: coupon.LayerMerchant, Currency: "CNY", Bearers: bearers, IfGone: coupon.GoneTopUp}
	d := c.WithDefaults(midday)
	if !d.At.Equal(midday) || !d.WithDefaults(later).At.Equal(midday) {
		t.Errorf("at %v, then %v", d.At, d.WithDefaults(later).At)
	}
	if k := d.Coupons[0]; k.Layer != coupon.LayerPlatform || k.Currency != "USD" || k.IfGone != coupon.GoneHonour || len(k.Bearers) != 1 || k.Bearers[0] != (coupon.Bearer{Party: "platform", BPS: 10000}) {
		t.Errorf("defaults %+v", k)
	}
	if k := d.Coupons[1]; k.Layer != coupon.LayerMerchant || k.Currency != "CNY" || k.IfGone != coupon.GoneTopUp || k.Bearers[0] != bearers[0] {
		t.Errorf("what was there is now %+v", k)
	}
	if c.Coupons[0].Layer != "" || !c.At.IsZero() {
		t.Error("the cart itself was changed")
	}
}

// TestBest_APartyThatBearsSeveralPartsBearsTheirSum: 5000, 3000 and 2000 parts of 9.99.
func TestBest_APartyThatBearsSeveralPartsBearsTheirSum(t *testing.T) {
	t.Parallel()
	c := pricing.Cart{Currency: "CNY", Lines: []pricing.Line{{ID: "l", Quantity: 1, UnitPriceMinor: 5_000}}, Coupons: []pricing.Coupon{
		{ID: "a", Snapshot: coupon.Snapshot{Kind: coupon.KindAmount, Value: 999}}, {ID: "b", Snapshot: coupon.Snapshot{Kind: coupon.KindPercent, Value: 80}},
	}}
	c.Coupons[0].Group, c.Coupons[0].StackWith = "a", []string{"b", "b"}
	c.Coupons[1].Group, c.Coupons[1].StackWith = "b", []string{"a", "x", "a"}
	c.Coupons[0].Bearers = []coupon.Bearer{{Party: "shop", BPS: 5_000}, {Party: "bank", BPS: 3_000}, {Party: "shop", BPS: 2_000}}
	q, err := pricing.Best(c.WithDefaults(midday))
	want := []pricing.BearerShare{{Party: "bank", DiscountMinor: 299}, {Party: "platform", DiscountMinor: 1_000}, {Party: "shop", DiscountMinor: 700}}
	if err != nil || !slices.Equal(q.Bearers, want) {
		t.Errorf("borne by %+v, want %+v, error %v", q.Bearers, want, err)
	}
}
