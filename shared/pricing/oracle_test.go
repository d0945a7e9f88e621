package pricing_test

import (
	"cmp"
	"math/big"
	"slices"

	"sluice/shared/coupon"
	"sluice/shared/pricing"
)

// The oracle prices by the letter of the rules and by brute force: it tries every
// combination, one after the other, and shares no line with what it checks.
type oracle struct {
	cart    pricing.Cart
	lines   []pricing.Line   // ascending by id
	parcels []pricing.Parcel // ascending by merchant
}

func newOracle(c pricing.Cart) oracle {
	o := oracle{cart: c, lines: slices.Clone(c.Lines), parcels: slices.Clone(c.Shipping)}
	slices.SortFunc(o.lines, func(a, b pricing.Line) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(o.parcels, func(a, b pricing.Parcel) int { return cmp.Compare(a.Merchant, b.Merchant) })
	return o
}

// divide gives ⌊(a·b + plus) / by⌋ and what is left over, however large the product.
func divide(a, b, plus, by int64) (quotient, rest int64) {
	const small = 1 << 31
	if a < small && b < small && plus < small {
		return (a*b + plus) / by, (a*b + plus) % by
	}
	n := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
	q, r := n.Add(n, big.NewInt(plus)).QuoRem(n, big.NewInt(by), new(big.Int))
	return q.Int64(), r.Int64()
}

func matches(list []string, what string) bool { return len(list) == 0 || slices.Contains(list, what) }

func inScope(s coupon.Scope, l pricing.Line) bool {
	return matches(s.Merchants, l.Merchant) && matches(s.SKUs, l.SKU) && matches(s.Categories, l.Category)
}

// unfit is the reason for which a coupon is not eligible, "" if it is.
func (o oracle) unfit(c pricing.Coupon) pricing.Reason {
	scope := int64(0)
	for _, l := range o.lines {
		if inScope(c.Scope, l) {
			scope += l.Quantity * l.UnitPriceMinor
		}
	}
	switch {
	case c.Currency != o.cart.Currency:
		return pricing.ReasonCurrency
	case !c.StartsAt.IsZero() && o.cart.At.Before(c.StartsAt):
		return pricing.ReasonNotStarted
	case !c.EndsAt.IsZero() && !o.cart.At.Before(c.EndsAt):
		return pricing.ReasonExpired
	case scope == 0:
		return pricing.ReasonOutOfScope
	case scope < c.MinAmountCents:
		return pricing.ReasonBelowMinimum
	}
	return ""
}

func combine(a, b pricing.Coupon) bool {
	return a.Group != b.Group && slices.Contains(a.StackWith, b.Group) && slices.Contains(b.StackWith, a.Group)
}

// feasible says whether a set may be used together.
func feasible(set []pricing.Coupon) bool {
	shipping := 0
	for i, c := range set {
		if c.Kind == coupon.KindFreeShipping {
			shipping++
		}
		for _, other := range set[:i] {
			if !combine(c, other) {
				return false
			}
		}
	}
	return shipping <= 1 && len(set)-shipping <= 3
}

// taken is what a coupon takes of every line, or of every parcel.
type taken struct {
	coupon pricing.Coupon
	total  int64
	of     []int64 // by line, of free shipping by parcel
}

func inOrder(set []pricing.Coupon) []pricing.Coupon {
	place := func(c pricing.Coupon) (at int) {
		if c.Kind == coupon.KindFreeShipping {
			return 9
		}
		if c.Layer == coupon.LayerPlatform {
			at = 2
		}
		if c.Kind == coupon.KindAmount {
			at++
		}
		return at
	}
	sorted := slices.Clone(set)
	slices.SortFunc(sorted, func(a, b pricing.Coupon) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.ID, b.ID))
	})
	return sorted
}

// apply uses the coupons of a set one after the other; those that take nothing are not
// in the result.
func (o oracle) apply(set []pricing.Coupon) (all []taken) {
	running, fees := make([]int64, len(o.lines)), make([]int64, len(o.parcels))
	for i, l := range o.lines {
		running[i] = l.Quantity * l.UnitPriceMinor
	}
	for i, p := range o.parcels {
		fees[i] = p.FeeMinor
	}
	for _, c := range inOrder(set) {
		left := running
		if c.Kind == coupon.KindFreeShipping {
			left = fees
		}
		t := o.take(c, left)
		for i, d := range t.of {
			left[i] -= d
		}
		if t.total > 0 {
			all = append(all, t)
		}
	}
	return all
}

// take is what a coupon takes of what is left.
func (o oracle) take(c pricing.Coupon, left []int64) taken {
	weights, x := make([]int64, len(left)), int64(0)
	ids := make([]string, len(left))
	for i := range left {
		var reached bool
		if c.Kind == coupon.KindFreeShipping {
			ids[i], reached = o.parcels[i].Merchant, matches(c.Scope.Merchants, o.parcels[i].Merchant)
		} else {
			ids[i], reached = o.lines[i].ID, inScope(c.Scope, o.lines[i])
		}
		if reached {
			weights[i] = left[i]
		}
		x += weights[i]
	}
	d := x
	switch c.Kind {
	case coupon.KindPercent:
		paid, _ := divide(x, c.Value, 50, 100)
		d = x - paid
	case coupon.KindAmount:
		d = min(c.Value, x)
	case coupon.KindFreeShipping:
	}
	if c.Kind != coupon.KindAmount && c.CapMinor > 0 {
		d = min(d, c.CapMinor)
	}
	return taken{coupon: c, total: d, of: allocate(d, weights, x, ids)}
}

// allocate splits a discount by weights: first what is due to each, rounded down, then
// one each to the largest remainders.
func allocate(d int64, weights []int64, sum int64, ids []string) []int64 {
	parts, rests, order := make([]int64, len(weights)), make([]int64, len(weights)), make([]int, len(weights))
	if d == 0 {
		return parts
	}
	over := d
	for i, w := range weights {
		parts[i], rests[i] = divide(d, w, 0, sum)
		over -= parts[i]
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(rests[j], rests[i]), cmp.Compare(weights[j], weights[i]), cmp.Compare(ids[i], ids[j]))
	})
	for _, i := range order[:over] {
		parts[i]++
	}
	return parts
}

// shares of a coupon, part by part, and in each by bearer. Zeros are left out.
func (o oracle) shares(t taken) (all []pricing.Share) {
	had, v := make([]int64, len(t.coupon.Bearers)), int64(0)
	for i, part := range t.of {
		v += part
		for b, upTo := range borne(v, t.coupon.Bearers) {
			s := pricing.Share{CouponID: t.coupon.ID, Party: t.coupon.Bearers[b].Party, DiscountMinor: upTo - had[b]}
			if t.coupon.Kind == coupon.KindFreeShipping {
				s.Merchant, s.Parcel = o.parcels[i].Merchant, true
			} else {
				s.LineID = o.lines[i].ID
			}
			if s.DiscountMinor != 0 {
				all = append(all, s)
			}
			had[b] = upTo
		}
	}
	return all
}

// borne is what each bearer has of the first v of a discount.
func borne(v int64, bearers []coupon.Bearer) []int64 {
	had, u, rem := make([]int64, len(bearers)), v, int64(coupon.FullBPS)
	for i, b := range bearers {
		if i == len(bearers)-1 {
			had[i] = u
			break
		}
		had[i], _ = divide(u, 2*b.BPS, rem, 2*rem)
		u -= had[i]
		rem -= b.BPS
	}
	return had
}
