package pricing

import "sluice/shared/coupon"

// bearing is how much the parties of one coupon have borne after some of its lines.
type bearing struct {
	parties []coupon.Bearer // in the order in which they pay
	taken   int64           // off the lines so far
	borne   []int64         // of that, by party
}

func newBearing(parties []coupon.Bearer) bearing {
	return bearing{parties: parties, borne: make([]int64, len(parties))}
}

// next adds what each party bears of the part that is taken off the next line: its
// value after the line minus its value before. Rounding the running sum, and not each
// line, makes parties and lines both add up.
func (b *bearing) next(shares []Share, of Share, part int64) []Share {
	b.taken += part
	rest, restBPS := b.taken, int64(coupon.FullBPS)
	for i, p := range b.parties {
		borne := rest
		if i < len(b.parties)-1 {
			borne = roundedShareOf(rest, p.BPS, restBPS)
		}
		if of.Party, of.DiscountMinor = p.Party, borne-b.borne[i]; of.DiscountMinor > 0 {
			shares = append(shares, of)
		}
		b.borne[i] = borne
		rest -= borne
		restBPS -= p.BPS
	}
	return shares
}
