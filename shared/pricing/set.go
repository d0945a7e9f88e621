package pricing

// A set has so many coupons for goods, and one for shipping, at most.
const maxGoods = 3

// set is coupons that are applied together.
type set struct {
	members [maxGoods + 1]int // usable coupons, ascending: as they apply; the first n count
	n       int
	payable int64
}

// with is the set with one more, in its place.
func (s set) with(i int) set {
	k := s.n
	for ; k > 0 && s.members[k-1] > i; k-- {
		s.members[k] = s.members[k-1]
	}
	s.members[k] = i
	s.n++
	return s
}

func (s *set) has(i int) bool {
	for _, m := range s.members[:s.n] {
		if m == i {
			return true
		}
	}
	return false
}

// admits says whether the set stays feasible with one more.
func (b *basket) admits(s *set, i int) bool {
	goods := 0
	for _, m := range s.members[:s.n] {
		if m == i || !combines(b.usable[m], b.usable[i]) {
			return false
		}
		if m < b.goods {
			goods++
		}
	}
	if i < b.goods {
		return goods < maxGoods
	}
	return goods == s.n
}

// better says whether s is to be preferred to t: for the payable, then for fewer
// coupons, then for those that end first, then for their ids.
func (b *basket) better(s, t *set) bool {
	switch {
	case s.payable != t.payable:
		return s.payable < t.payable
	case s.n != t.n:
		return s.n < t.n
	}
	if c := compareLists(s.list(b.ends), t.list(b.ends)); c != 0 {
		return c < 0
	}
	return compareLists(s.list(b.ids), t.list(b.ids)) < 0
}

// list is the ranks of the members, ascending, and zeros after them.
func (s *set) list(ranks []int) (list [maxGoods + 1]int) {
	for i, m := range s.members[:s.n] {
		rank := ranks[m]
		k := i
		for ; k > 0 && list[k-1] > rank; k-- {
			list[k] = list[k-1]
		}
		list[k] = rank
	}
	return list
}

func compareLists(p, q [maxGoods + 1]int) int {
	for i, rank := range p {
		if rank != q[i] {
			return rank - q[i]
		}
	}
	return 0
}
