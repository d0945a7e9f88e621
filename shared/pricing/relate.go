package pricing

import "sluice/shared/coupon"

// relate says of every two coupons whether they combine, and how their scopes lie.
func (s *search) relate() {
	n := len(s.b.usable)
	masks := make([]uint64, 3*n)
	s.partners, s.within, s.apart = masks[:n], masks[n:2*n], masks[2*n:]
	for i := range n {
		for j := range i {
			s.relateTwo(j, i)
		}
	}
}

// relateTwo is told j < i: so j applies first if they combine, and only its scope matters for i's.
func (s *search) relateTwo(j, i int) {
	u, v := s.b.usable[j], s.b.usable[i]
	if combines(u, v) {
		s.partners[j] |= 1 << i
		s.partners[i] |= 1 << j
	}
	if i >= s.b.goods {
		return
	}
	if u.scope.within(v.scope) {
		s.within[j] |= 1 << i
	} else if u.scope.apart(v.scope) {
		s.apart[j] |= 1 << i
	}
}

// collapse leaves, of neighbours in the order that do the same with the same others,
// only the one that is preferred. They exclude each other, or one would have a partner
// that the other has not: itself. So one of them is used at most. Others, that lie between two alike, may round differently before and after.
func (s *search) collapse() {
	s.goods = lowest(s.b.goods)
	kept := 0
	for i := 1; i < s.b.goods; i++ {
		if !s.alike(kept, i) {
			kept = i
			continue
		}
		u, v := s.b.usable[kept], s.b.usable[i]
		out := i
		if v.ends < u.ends || v.ends == u.ends && v.id < u.id {
			out, kept = kept, i
		}
		s.goods &^= 1 << out
	}
}

func (s *search) alike(i, j int) bool {
	u, v := s.b.usable[i], s.b.usable[j]
	return s.partners[i] == s.partners[j] && sameEffect(&u.Snapshot, &v.Snapshot) &&
		u.scope.within(v.scope) && v.scope.within(u.scope)
}

// sameEffect is of coupons of one scope, whose thresholds are passed.
func sameEffect(c, d *coupon.Snapshot) bool {
	return c.Kind == d.Kind && c.Value == d.Value && c.CapMinor == d.CapMinor
}
