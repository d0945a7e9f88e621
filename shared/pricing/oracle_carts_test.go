package pricing_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"sluice/shared/coupon"
	"sluice/shared/pricing"
)

// carts makes carts by chance, of the kinds in which pricing goes wrong: ties, free and
// tiny amounts, thresholds met exactly, caps, twins, foreign and late coupons, coupons of
// one group and of one-sided stacking, and amounts near the largest.
type carts struct{ *rand.Rand }

func newCarts(seed uint64) carts { return carts{rand.New(rand.NewPCG(seed, 20261201))} }

// one in so many times.
func (r carts) one(in int) bool { return r.IntN(in) == 0 }

func pick[T any](r carts, from ...T) T { return from[r.IntN(len(from))] }

// some of a list, in the list's order.
func some(r carts, from ...string) (list []string) {
	for _, s := range from {
		if r.one(2) {
			list = append(list, s)
		}
	}
	return list
}

func (r carts) cart(coupons int) pricing.Cart {
	c := pricing.Cart{Currency: "CNY", At: noon}
	price := r.prices()
	for i := range r.IntN(7) {
		c.Lines = append(c.Lines, pricing.Line{
			ID: fmt.Sprint(pick(r, "l", "l", "L", "é", "线"), i*pick(r, 1, 7)), Merchant: pick(r, "m1", "m1", "m2", "m3"),
			SKU: pick(r, "s1", "s2", "s3"), Category: pick(r, "c1", "c2", ""), Quantity: pick(r, 1, 1, 2, 3, 7, int64(1+r.IntN(50))), UnitPriceMinor: price(),
		})
	}
	for _, m := range some(r, "m1", "m2", "m3", "m9") {
		c.Shipping = append(c.Shipping, pricing.Parcel{Merchant: m, FeeMinor: min(price(), math.MaxInt64/2000)})
	}
	if r.one(30) {
		c.Lines = append(c.Lines, pricing.Line{ID: "rest", Merchant: "m1", Quantity: 1, UnitPriceMinor: math.MaxInt64 - total(c)})
	}
	stacking := r.stacking()
	for i := range coupons {
		k := pricing.Coupon{ID: fmt.Sprint("k", i+pick(r, 0, 0, 100))}
		if len(c.Coupons) > 0 && r.one(6) {
			k.Snapshot = pick(r, c.Coupons...).Snapshot // a twin
		} else {
			k.Snapshot = r.coupon(c, stacking)
		}
		c.Coupons = append(c.Coupons, k)
	}
	return r.shuffled(unique(c))
}

// prices are of one sort in a cart.
func (r carts) prices() func() int64 {
	same := int64(r.IntN(20_000))
	switch r.IntN(8) {
	case 0:
		return func() int64 { return same }
	case 1:
		return func() int64 { return r.Int64N(3) }
	case 2:
		return func() int64 { return 1 + r.Int64N(12) }
	case 3: // with 6 lines of up to 50 units, 4 parcels: never beyond the largest sum
		return func() int64 { return math.MaxInt64/320 - r.Int64N(1000) }
	case 4:
		return func() int64 { return pick[int64](r, 0, 1, 999, 1000, 5000, math.MaxInt32, 1<<40) }
	default:
		return func() int64 { return r.Int64N(20_000) }
	}
}

// stacking are the groups of a cart's coupons.
func (r carts) stacking() func(*coupon.Snapshot) {
	groups := []string{"a", "b", "c", "d", "e", "f", "s"}
	if r.one(2) { // whatever is not of one group combines
		next := 0
		return func(s *coupon.Snapshot) {
			next += pick(r, 1, 1, 0)
			s.Group, s.StackWith = groups[next%len(groups)], groups
		}
	}
	return func(s *coupon.Snapshot) {
		s.Group, s.StackWith = pick(r, append(groups, "")...), some(r, append(some(r, groups...), "x")...)
		if r.one(2) {
			s.StackWith = append(groups, some(r, groups...)...) // some of them twice
		}
	}
}

func (r carts) coupon(c pricing.Cart, stacking func(*coupon.Snapshot)) (s coupon.Snapshot) {
	s.Kind = pick(r, coupon.KindAmount, coupon.KindAmount, coupon.KindPercent, coupon.KindPercent, coupon.KindFreeShipping, coupon.KindFreeShipping)
	s.Layer, s.Currency, s.IfGone = pick(r, coupon.LayerMerchant, coupon.LayerPlatform), c.Currency, coupon.GoneHonour
	s.Bearers = r.bearers()
	stacking(&s)
	if r.one(3) {
		s.Scope = coupon.Scope{Merchants: some(r, "m1", "m2"), SKUs: some(r, "s1", "s2", "s4"), Categories: some(r, "c1", "c2")}
	}
	if r.one(3) {
		s.Scope.SKUs, s.Scope.Categories = nil, nil
	}
	r.bounds(&s)
	total := r.scopeOf(c, s)
	switch s.Kind {
	case coupon.KindAmount:
		s.Value = max(1, r.near(total))
	case coupon.KindPercent:
		s.Value = pick(r, 1, 50, 80, 90, 99, 100, 1+r.Int64N(100))
	case coupon.KindFreeShipping:
	}
	if r.one(2) {
		s.MinAmountCents = max(0, r.near(total))
	}
	if s.Kind != coupon.KindAmount && r.one(2) {
		s.CapMinor = max(0, r.near(total)/pick[int64](r, 1, 2, 10))
	}
	return s
}

// bounds make a coupon one of another currency or time, now and then.
func (r carts) bounds(s *coupon.Snapshot) {
	if r.one(20) {
		s.Currency = "USD"
	}
	hour := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Hour) }
	if r.one(2) {
		s.EndsAt = hour(pick(r, 1, 1, 24, 24, 48, 0, -5))
	}
	if r.one(4) {
		s.StartsAt = hour(pick(r, 0, -24, -24, 1))
	}
	if !s.EndsAt.IsZero() && !s.EndsAt.After(s.StartsAt) {
		s.StartsAt = time.Time{}
	}
	if r.one(8) {
		s.EndsAt = s.EndsAt.In(time.FixedZone("", 8*3600)) // the same moment
	}
}

func (r carts) scopeOf(c pricing.Cart, s coupon.Snapshot) (total int64) {
	for _, l := range c.Lines {
		if inScope(s.Scope, l) {
			total += l.Quantity * l.UnitPriceMinor
		}
	}
	return total
}

// total of all lines and parcels.
func total(c pricing.Cart) (sum int64) {
	for _, l := range unique(c).Lines {
		sum += l.Quantity * l.UnitPriceMinor
	}
	for _, p := range c.Shipping {
		sum += p.FeeMinor
	}
	return sum
}

// near is the total itself, one beside it, or some part of it.
func (r carts) near(total int64) int64 {
	switch r.IntN(6) {
	case 0:
		return total
	case 1:
		return total + pick[int64](r, -1, 1)
	case 2:
		return pick[int64](r, 1, 2, 500, 1000, 2000)
	default:
		return r.Int64N(total/pick[int64](r, 1, 3, 10) | 1)
	}
}

func (r carts) bearers() []coupon.Bearer {
	const all = coupon.FullBPS
	parties := []string{"platform", "merchant", "brand", "bank"}
	r.Shuffle(len(parties), func(i, j int) { parties[i], parties[j] = parties[j], parties[i] })
	cuts := []int64{0, all}
	for range r.IntN(4) {
		cuts = append(cuts, pick(r, 1, 3333, 5000, 7000, 9999, r.Int64N(all)+1))
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var list []coupon.Bearer
	for i := range cuts[1:] {
		party := parties[i]
		if i > 0 && r.IntN(4) == 0 {
			party = list[0].Party // once more
		}
		list = append(list, coupon.Bearer{Party: party, BPS: cuts[i+1] - cuts[i]})
	}
	return list
}

// unique drops what has an id that is taken.
func unique(c pricing.Cart) pricing.Cart {
	seen := map[string]bool{}
	taken := func(kind, id string) bool {
		defer func() { seen[kind+id] = true }()
		return seen[kind+id]
	}
	c.Lines = slices.DeleteFunc(slices.Clone(c.Lines), func(l pricing.Line) bool { return taken("line", l.ID) })
	c.Coupons = slices.DeleteFunc(slices.Clone(c.Coupons), func(k pricing.Coupon) bool { return taken("coupon", k.ID) })
	return c
}

func (r carts) shuffled(c pricing.Cart) pricing.Cart {
	r.Shuffle(len(c.Lines), func(i, j int) { c.Lines[i], c.Lines[j] = c.Lines[j], c.Lines[i] })
	r.Shuffle(len(c.Shipping), func(i, j int) { c.Shipping[i], c.Shipping[j] = c.Shipping[j], c.Shipping[i] })
	r.Shuffle(len(c.Coupons), func(i, j int) { c.Coupons[i], c.Coupons[j] = c.Coupons[j], c.Coupons[i] })
	return c
}
