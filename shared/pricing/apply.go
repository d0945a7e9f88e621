package pricing

// running is the amounts that coupons leave, one after the other.
type running struct {
	lines, fees []int64
	allocator
}

func (r *running) start(b *basket) {
	r.lines = append(r.lines[:0], b.amounts...)
	r.fees = append(r.fees[:0], b.fees...)
}

// apply takes off what the coupon takes off now, from lines or parcels, and returns it.
func (r *running) apply(b *basket, i int) int64 {
	amounts := r.lines
	if i >= b.goods {
		amounts = r.fees
	}
	u := b.usable[i]
	whole := u.scope.sumOf(amounts)
	discount := u.off(whole)
	r.take(discount, whole, amounts, u.scope)
	return discount
}

// value prices the set, and leaves out those of its coupons that take nothing off in it.
func (b *basket) value(s set, r *running) set {
	worth := set{payable: b.totalMinor}
	goods := 0
	for goods < s.n && s.members[goods] < b.goods {
		goods++
	}
	for k, off := range b.offs(s.members[:goods], r) {
		if off > 0 {
			worth = worth.with(s.members[k])
			worth.payable -= off
		}
	}
	for _, i := range s.members[goods:s.n] { // goods coupons take nothing from it
		worth = worth.with(i)
		worth.payable -= b.usable[i].alone
	}
	return worth
}

// offs is what goods coupons take off, one after the other. Lines are looked at only if
// scopes cross: else what is left of a scope is known from its own coupons.
func (b *basket) offs(goods []int, r *running) (offs [maxGoods]int64) {
	crossing := b.crossing(goods)
	if crossing {
		r.lines = append(r.lines[:0], b.amounts...)
	}
	for k, i := range goods {
		u := b.usable[i]
		x := u.amount
		if crossing {
			x = u.scope.sumOf(r.lines)
		} else {
			for j, before := range goods[:k] {
				if b.usable[before].scope.within(u.scope) {
					x -= offs[j]
				}
			}
		}
		offs[k] = u.off(x)
		if crossing && k < len(goods)-1 {
			r.take(offs[k], x, r.lines, u.scope)
		}
	}
	return offs
}

// crossing says whether the scope of one of these coupons has some lines of a later one,
// and others.
func (b *basket) crossing(goods []int) bool {
	for k, i := range goods {
		for _, j := range goods[k+1:] {
			u, v := b.usable[i].scope, b.usable[j].scope
			if !u.within(v) && !u.apart(v) {
				return true
			}
		}
	}
	return false
}
