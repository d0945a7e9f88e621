package pricing_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/shared/coupon"
	"sluice/shared/pricing"
)

// anyCart has up to 12 lines and 9 coupons of all kinds.
func anyCart(r *rand.Rand) pricing.Cart {
	lines := 1 + r.IntN(12)
	c := unevenCart(r, lines)
	c.Coupons = stackable(r.IntN(10), coupon.KindAmount, 100, mixed(r, lines))
	for i := range c.Coupons {
		k := &c.Coupons[i]
		if r.IntN(3) == 0 {
			k.Group = "shared"
		}
		k.StackWith = slices.DeleteFunc(append(slices.Clone(k.StackWith), "shared"), func(string) bool { return r.IntN(6) == 0 })
	}
	return c.WithDefaults(midday)
}

func clone(c pricing.Cart) pricing.Cart {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	var d pricing.Cart
	if err := json.Unmarshal(text, &d); err != nil {
		panic(err)
	}
	return d
}

func shuffled[E any](r *rand.Rand, list []E) {
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

func forAnyCart(t *testing.T, seed uint64, check func(*testing.T, *rand.Rand, pricing.Cart)) {
	t.Helper()
	t.Parallel()
	for n := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, n))
		if check(t, r, anyCart(r)); t.Failed() {
			t.Fatalf("cart %d", n)
		}
	}
}

func TestBest_SameInAnyOrderAndAgainAndInputUntouched(t *testing.T) {
	forAnyCart(t, 1, func(t *testing.T, r *rand.Rand, c pricing.Cart) {
		q, before := best(t, c), clone(c)
		other := clone(c)
		shuffled(r, other.Lines)
		shuffled(r, other.Shipping)
		shuffled(r, other.Coupons)
		for _, k := range other.Coupons {
			shuffled(r, k.Scope.Merchants)
			shuffled(r, k.Scope.SKUs)
			shuffled(r, k.Scope.Categories)
			shuffled(r, k.StackWith)
		}
		if diff := cmp.Diff(q, best(t, other)); diff != "" {
			t.Errorf("in another order (-first +other):\n%s", diff)
		}
		if diff := cmp.Diff(q, best(t, c)); diff != "" {
			t.Errorf("again (-first +second):\n%s", diff)
		}
		if diff := cmp.Diff(before, c); diff != "" {
			t.Errorf("the cart is another one:\n%s", diff)
		}
	})
}

func TestBest_OneMoreCouponNeverCostsMore(t *testing.T) {
	forAnyCart(t, 2, func(t *testing.T, _ *rand.Rand, c pricing.Cart) {
		all := c.Coupons
		paid := int64(-1)
		for n := range len(all) + 1 {
			c.Coupons = all[:n]
			q := best(t, c)
			if n > 0 && q.PayableMinor > paid {
				t.Errorf("payable %d with %d coupons, %d with one less", q.PayableMinor, n, paid)
			}
			paid = q.PayableMinor
		}
	})
}

func TestBest_WithoutWhatIsNotUsedIsTheSame(t *testing.T) {
	forAnyCart(t, 3, func(t *testing.T, _ *rand.Rand, c pricing.Cart) {
		q := best(t, c)
		all := c.Coupons
		for i, k := range all {
			if slices.ContainsFunc(q.Coupons, func(u pricing.Used) bool { return u.ID == k.ID }) {
				continue
			}
			c.Coupons = slices.Delete(slices.Clone(all), i, i+1)
			other := best(t, c)
			want := q
			want.Rejected = slices.DeleteFunc(slices.Clone(q.Rejected), func(x pricing.Rejection) bool { return x.ID == k.ID })
			want.Nodes = other.Nodes
			if diff := cmp.Diff(want, other); diff != "" {
				t.Errorf("without %s (-want +got):\n%s", k.ID, diff)
			}
		}
	})
}

func TestBest_SumsAgree(t *testing.T) {
	forAnyCart(t, 4, func(t *testing.T, _ *rand.Rand, c pricing.Cart) { wantSums(t, best(t, c)) })
}

// wantSums adds everything up, in all the ways that it is told.
func wantSums(t *testing.T, q pricing.Quote) {
	t.Helper()
	var off [4]int64
	var paid int64
	for _, l := range q.Lines {
		off[0] += l.DiscountMinor
		paid += l.PayableMinor
		if l.PayableMinor < 0 || l.DiscountMinor < 0 || l.AmountMinor-l.DiscountMinor != l.PayableMinor {
			t.Errorf("line %+v", l)
		}
	}
	for _, p := range q.Shipping {
		off[0] += p.DiscountMinor
		paid += p.PayableMinor
		if p.PayableMinor < 0 || p.DiscountMinor < 0 || p.AmountMinor-p.DiscountMinor != p.PayableMinor {
			t.Errorf("parcel %+v", p)
		}
	}
	for _, k := range q.Coupons {
		off[1] += k.DiscountMinor
	}
	for _, b := range q.Bearers {
		off[2] += b.DiscountMinor
	}
	for _, s := range q.Shares {
		off[3] += s.DiscountMinor
		if s.DiscountMinor <= 0 {
			t.Errorf("share %+v", s)
		}
	}
	if off != [4]int64{q.DiscountMinor, q.DiscountMinor, q.DiscountMinor, q.DiscountMinor} || paid != q.PayableMinor {
		t.Errorf("discounts of lines and parcels, coupons, bearers, shares are %v, want %d; payable %d, want %d", off, q.DiscountMinor, paid, q.PayableMinor)
	}
}

func TestExactly_OfWhatBestUsesIsTheSameQuote(t *testing.T) {
	forAnyCart(t, 5, func(t *testing.T, _ *rand.Rand, c pricing.Cart) {
		want := best(t, c)
		c.Coupons = slices.DeleteFunc(c.Coupons, func(k pricing.Coupon) bool {
			return !slices.ContainsFunc(want.Coupons, func(u pricing.Used) bool { return u.ID == k.ID })
		})
		got, err := pricing.Exactly(c)
		if err != nil {
			t.Fatal(err)
		}
		want.Rejected, want.Nodes = []pricing.Rejection{}, 0
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-best +exactly):\n%s", diff)
		}
	})
}
