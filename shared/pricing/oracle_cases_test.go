package pricing_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"sluice/shared/coupon"
	"sluice/shared/pricing"
)

// noon is when the carts of these tests are priced.
var noon = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

// example is a cart with its price, known from elsewhere.
type example struct {
	Name string         `json:"name"`
	Cart pricing.Cart   `json:"cart"`
	Want map[string]any `json:"want"`
}

func examples(t testing.TB) (all []example) {
	t.Helper()
	for _, file := range []string{"testdata/pricing.json", "testdata/more.json"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var some []example
		if err := json.Unmarshal(text, &some); err != nil {
			t.Fatal(err)
		}
		all = append(all, some...)
	}
	for i := range all {
		all[i].Cart = withDefaults(all[i].Cart)
	}
	return all
}

// withDefaults says what a cart leaves unsaid.
func withDefaults(c pricing.Cart) pricing.Cart {
	if c.At.IsZero() {
		c.At = noon
	}
	for i := range c.Coupons {
		k := &c.Coupons[i]
		if k.Layer == "" {
			k.Layer = coupon.LayerPlatform
		}
		if k.Bearers == nil {
			k.Bearers = []coupon.Bearer{{Party: "platform", BPS: coupon.FullBPS}}
		}
		if k.Currency == "" {
			k.Currency = c.Currency
		}
		if k.IfGone == "" {
			k.IfGone = coupon.GoneHonour
		}
	}
	return c
}

// answer is a quote in JSON, without how it was found.
func answer(t testing.TB, q pricing.Quote) string {
	t.Helper()
	return inMembers(t, membersOf(t, q))
}

func membersOf(t testing.TB, q pricing.Quote) (all map[string]any) {
	t.Helper()
	text, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// inMembers writes the members of a quote that are prices.
func inMembers(t testing.TB, all map[string]any) string {
	t.Helper()
	for _, how := range []string{"exact", "method", "nodes", "max_missed", "currency"} {
		delete(all, how)
	}
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestOracle_PricesTheKnownCartsAsKnown(t *testing.T) {
	t.Parallel()
	all := examples(t)
	if len(all) < 20 {
		t.Fatalf("only %d carts are known", len(all))
	}
	for _, e := range all {
		got := membersOf(t, newOracle(e.Cart).best())
		for name := range got {
			if _, known := e.Want[name]; !known {
				delete(got, name) // of some carts not everything is told
			}
		}
		if got, want := inMembers(t, got), inMembers(t, e.Want); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", e.Name, got, want)
		}
	}
}
