package pricing

import "slices"

// Charged is what an order was charged for: the amounts that refunds reverse. They are
// stored, and never computed again.
type Charged struct {
	Lines    []ChargedLine   `json:"lines"`    // ascending by id
	Shipping []ChargedParcel `json:"shipping"` // ascending by merchant
}

// ChargedLine is a line as it was charged.
type ChargedLine struct {
	ID             string  `json:"id"`
	Quantity       int64   `json:"quantity"`
	UnitPriceMinor int64   `json:"unit_price"`
	NetMinor       int64   `json:"net"`    // what all units cost after discounts
	Shares         []Share `json:"shares"` // of the discounts: by coupon, as they apply, then by party, as they pay
}

// ChargedParcel is a parcel as it was charged.
type ChargedParcel struct {
	Merchant string  `json:"merchant"`
	FeeMinor int64   `json:"fee"`
	NetMinor int64   `json:"net"`
	Shares   []Share `json:"shares"` // as a line's
}

// Charge is what the quote of a cart charges, but without the discounts of these coupons.
func Charge(c Cart, q Quote, without ...string) Charged {
	charged := Charged{Lines: make([]ChargedLine, len(q.Lines)), Shipping: make([]ChargedParcel, len(q.Shipping))}
	lines, parcels := make(map[string]*ChargedLine, len(q.Lines)), make(map[string]*ChargedParcel, len(q.Shipping))
	for i, l := range q.Lines {
		charged.Lines[i] = ChargedLine{ID: l.ID, NetMinor: l.AmountMinor, Shares: []Share{}}
		lines[l.ID] = &charged.Lines[i]
	}
	for i, p := range q.Shipping {
		charged.Shipping[i] = ChargedParcel{Merchant: p.Merchant, FeeMinor: p.AmountMinor, NetMinor: p.AmountMinor, Shares: []Share{}}
		parcels[p.Merchant] = &charged.Shipping[i]
	}
	for _, l := range c.Lines {
		if line, known := lines[l.ID]; known {
			line.Quantity, line.UnitPriceMinor = l.Quantity, l.UnitPriceMinor
		}
	}
	for _, s := range q.Shares {
		switch {
		case slices.Contains(without, s.CouponID):
		case s.Parcel:
			parcels[s.Merchant].add(s)
		default:
			lines[s.LineID].add(s)
		}
	}
	return charged
}

func (l *ChargedLine) add(s Share) {
	l.Shares = append(l.Shares, s)
	l.NetMinor -= s.DiscountMinor
}

func (p *ChargedParcel) add(s Share) {
	p.Shares = append(p.Shares, s)
	p.NetMinor -= s.DiscountMinor
}

// Back is what goes back of the line once k of its units are refunded, in total: money
// to the buyer, and the discounts that are reversed, as many shares as the line has and
// in their order, zeros too. Together they are the price of k units, and after the last
// unit all that was charged. What was posted before is for the caller to subtract. A k
// below 0 counts as 0, beyond the quantity as all.
func (l ChargedLine) Back(k int64) (moneyMinor int64, shares []Share) {
	k = min(max(k, 0), l.Quantity)
	moneyMinor, _ = shareOf(l.NetMinor, k, l.Quantity)
	return moneyMinor, reverse(l.Shares, k*l.UnitPriceMinor-moneyMinor)
}

// Back is what goes back of the parcel once its shipping is refunded: all of it.
func (p ChargedParcel) Back() (moneyMinor int64, shares []Share) {
	return p.NetMinor, slices.Clone(p.Shares)
}

// reverse splits a discount that is reversed as it was given: over the coupons, and of
// each over its parties.
func reverse(given []Share, discount int64) []Share {
	back := slices.Clone(given)
	coupons := nesting{whole: total(given), part: discount}
	for at := 0; at < len(back); {
		end := at + 1
		for end < len(back) && back[end].CouponID == back[at].CouponID {
			end++
		}
		of := back[at:end]
		parties := nesting{whole: total(of)}
		parties.part = coupons.next(parties.whole)
		for i := range of {
			of[i].DiscountMinor = parties.next(of[i].DiscountMinor)
		}
		at = end
	}
	return back
}

// nesting splits a part of a whole over the shares of the whole: each takes the floor of
// its part of what is left of both, and so the last takes the rest.
type nesting struct{ whole, part int64 }

func (n *nesting) next(share int64) int64 {
	if n.whole == 0 {
		return 0
	}
	part, _ := shareOf(n.part, share, n.whole)
	n.whole -= share
	n.part -= part
	return part
}

func total(shares []Share) int64 {
	sum := int64(0)
	for _, s := range shares {
		sum += s.DiscountMinor
	}
	return sum
}
