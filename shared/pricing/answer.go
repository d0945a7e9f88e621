package pricing

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
)

// quote prices the set, all of whose coupons take something off.
func (b *basket) quote(s set) Quote {
	q := Quote{
		Currency: b.cart.Currency, PayableMinor: b.totalMinor, Exact: true, Method: MethodExact,
		Coupons: []Used{}, Bearers: []BearerShare{}, Rejected: append(append([]Rejection{}, b.rejected...), b.leftOut(&s, ReasonNotBest)...),
	}
	var r running
	r.start(b)
	for _, i := range s.members[:s.n] {
		discount := b.apply(i, &r, &q)
		q.Coupons = append(q.Coupons, Used{b.usable[i].ID, discount})
		q.DiscountMinor += discount
		q.PayableMinor -= discount
	}
	b.price(&r, &q)
	slices.SortFunc(q.Coupons, func(u, v Used) int { return strings.Compare(u.ID, v.ID) })
	slices.SortFunc(q.Rejected, byID)
	q.Bearers = bearersOf(q.Shares)
	return q
}

// apply applies a coupon and adds its shares to the quote.
func (b *basket) apply(i int, r *running, q *Quote) int64 {
	u := b.usable[i]
	parcels := i >= b.goods
	amounts := r.lines
	if parcels {
		amounts = r.fees
	}
	before := slices.Clone(amounts)
	discount := r.apply(b, i)
	borne := newBearing(u.Bearers)
	q.Shares = slices.Grow(q.Shares, u.scope.len()*len(u.Bearers))
	for k, word := range u.scope {
		for ; word != 0; word &= word - 1 {
			at := k*64 + bits.TrailingZeros64(word)
			share := Share{CouponID: u.ID, Parcel: parcels}
			if parcels {
				share.Merchant = b.parcels[at].Merchant
			} else {
				share.LineID = b.lines[at].ID
			}
			q.Shares = borne.next(q.Shares, share, before[at]-amounts[at])
		}
	}
	return discount
}

// price says what is left of lines and parcels.
func (b *basket) price(r *running, q *Quote) {
	q.Lines, q.Shipping = make([]LinePrice, len(b.lines)), make([]ParcelPrice, len(b.parcels))
	for i, l := range b.lines {
		q.Lines[i] = LinePrice{l.ID, b.amounts[i], b.amounts[i] - r.lines[i], r.lines[i]}
	}
	for i, p := range b.parcels {
		q.Shipping[i] = ParcelPrice{p.Merchant, p.FeeMinor, p.FeeMinor - r.fees[i], r.fees[i]}
	}
}

// bearersOf adds up what each party bears, ascending by party. Those that bear nothing are left out.
func bearersOf(shares []Share) []BearerShare {
	all := []BearerShare{}
	place := map[string]int{}
	for _, s := range shares {
		if s.DiscountMinor == 0 {
			continue
		}
		at, known := place[s.Party]
		if !known {
			at = len(all)
			place[s.Party] = at
			all = append(all, BearerShare{Party: s.Party})
		}
		all[at].DiscountMinor += s.DiscountMinor
	}
	slices.SortFunc(all, func(a, b BearerShare) int { return cmp.Compare(a.Party, b.Party) })
	return all
}
