package pricing_test

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"sluice/shared/coupon"
	"sluice/shared/pricing"
)

// best is the answer by the rules.
func (o oracle) best() pricing.Quote {
	var goods, shipping []pricing.Coupon
	reasons := map[string]pricing.Reason{}
	for _, c := range o.cart.Coupons {
		switch reason := o.unfit(c); {
		case reason != "":
			reasons[c.ID] = reason
			continue
		case c.Kind == coupon.KindFreeShipping:
			shipping = append(shipping, c)
		default:
			goods = append(goods, c)
		}
		reasons[c.ID] = pricing.ReasonNotBest
		if len(o.apply([]pricing.Coupon{c})) == 0 {
			reasons[c.ID] = pricing.ReasonNoEffect
		}
	}
	var best []taken
	for _, set := range sets(goods, shipping) {
		if all := o.apply(set); preferred(all, best) {
			best = all
		}
	}
	for _, t := range best {
		delete(reasons, t.coupon.ID)
	}
	return o.quote(best, reasons)
}

// sets are all that may be used together, the empty one among them.
func sets(goods, shipping []pricing.Coupon) (all [][]pricing.Coupon) {
	var grow func(set []pricing.Coupon, from int)
	grow = func(set []pricing.Coupon, from int) {
		all = append(all, set)
		for _, c := range shipping {
			if with := append(slices.Clone(set), c); feasible(with) {
				all = append(all, with)
			}
		}
		for i := from; i < len(goods); i++ {
			if with := append(slices.Clone(set), goods[i]); feasible(with) {
				grow(with, i+1)
			}
		}
	}
	grow(nil, 0)
	return all
}

// preferred says whether one combination is better than another: less is payable, or
// fewer coupons are used, or those that end sooner, or by their ids.
func preferred(a, b []taken) bool {
	var discountA, discountB int64
	for _, t := range a {
		discountA += t.total
	}
	for _, t := range b {
		discountB += t.total
	}
	return cmp.Or(cmp.Compare(discountB, discountA), cmp.Compare(len(a), len(b)),
		slices.CompareFunc(ends(a), ends(b), soonerEnd), slices.Compare(ids(a), ids(b))) < 0
}

// ends are the moments at which coupons end, ascending.
func ends(all []taken) (list []time.Time) {
	for _, t := range all {
		list = append(list, t.coupon.EndsAt)
	}
	slices.SortFunc(list, soonerEnd)
	return list
}

// soonerEnd compares ends; the zero one is that of a coupon that never ends.
func soonerEnd(a, b time.Time) int {
	if a.IsZero() != b.IsZero() {
		return map[bool]int{true: 1, false: -1}[a.IsZero()]
	}
	return a.Compare(b)
}

func ids(all []taken) (list []string) {
	for _, t := range all {
		list = append(list, t.coupon.ID)
	}
	slices.Sort(list)
	return list
}

// quote writes down what a combination makes of the cart.
func (o oracle) quote(all []taken, reasons map[string]pricing.Reason) pricing.Quote {
	q := pricing.Quote{Currency: o.cart.Currency, Coupons: []pricing.Used{}, Lines: []pricing.LinePrice{}, Shipping: []pricing.ParcelPrice{},
		Bearers: []pricing.BearerShare{}, Rejected: []pricing.Rejection{}}
	for _, l := range o.lines {
		q.Lines = append(q.Lines, pricing.LinePrice{ID: l.ID, AmountMinor: l.Quantity * l.UnitPriceMinor})
	}
	for _, p := range o.parcels {
		q.Shipping = append(q.Shipping, pricing.ParcelPrice{Merchant: p.Merchant, AmountMinor: p.FeeMinor})
	}
	parties := map[string]int64{}
	for _, t := range all {
		q.Coupons = append(q.Coupons, pricing.Used{ID: t.coupon.ID, DiscountMinor: t.total})
		for i, d := range t.of {
			if t.coupon.Kind == coupon.KindFreeShipping {
				q.Shipping[i].DiscountMinor += d
			} else {
				q.Lines[i].DiscountMinor += d
			}
		}
		q.Shares = append(q.Shares, o.shares(t)...)
	}
	for _, s := range q.Shares {
		parties[s.Party] += s.DiscountMinor
	}
	for i := range q.Lines {
		l := &q.Lines[i]
		l.PayableMinor = l.AmountMinor - l.DiscountMinor
		q.PayableMinor += l.PayableMinor
		q.DiscountMinor += l.DiscountMinor
	}
	for i := range q.Shipping {
		p := &q.Shipping[i]
		p.PayableMinor = p.AmountMinor - p.DiscountMinor
		q.PayableMinor += p.PayableMinor
		q.DiscountMinor += p.DiscountMinor
	}
	slices.SortFunc(q.Coupons, func(a, b pricing.Used) int { return cmp.Compare(a.ID, b.ID) })
	for _, party := range slices.Sorted(maps.Keys(parties)) {
		q.Bearers = append(q.Bearers, pricing.BearerShare{Party: party, DiscountMinor: parties[party]})
	}
	for _, id := range slices.Sorted(maps.Keys(reasons)) {
		q.Rejected = append(q.Rejected, pricing.Rejection{ID: id, Reason: reasons[id]})
	}
	return q
}
