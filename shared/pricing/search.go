package pricing

import (
	"math"
	"math/bits"
)

const (
	// maxNodes bounds the search: sets that are priced, never time, so that the answer is the same everywhere. All
	// sets of 30 goods coupons are 4,526; one for shipping adds none, it is read off, see offer.
	maxNodes = 20_000
	// maxExact is how many eligible coupons are searched: as many as a mask has bits.
	maxExact = 64
)

// search looks at all feasible sets, depth first in the order in which coupons apply,
// but for those that a bound shows to be worse than the best so far.
type search struct {
	b        *basket
	partners []uint64 // by coupon: those that combine with it
	within   []uint64 // by coupon: those whose scope holds all of its own
	apart    []uint64 // by coupon: those whose scope holds nothing of its own
	goods    uint64   // coupons for goods that are tried
	best     set
	nodes    int64
	cut      bool  // the budget left something out
	open     int64 // least bound of that: no set is looked at after, so it stays at the best or below
	levels   [maxGoods]level
	allocator
}

// level is the state after as many goods coupons as its index says.
type level struct {
	last   int     // coupon that was applied last
	off    int64   // what it took off
	amount []int64 // by coupon, of its scope now
	would  []int64 // by coupon: what it would take off now
	lines  []int64 // running amounts, if made: only scopes that cross need them
	made   bool
}

func newSearch(b *basket, incumbent set) *search {
	s := &search{b: b, best: incumbent, open: math.MaxInt64}
	s.relate()
	s.collapse()
	n := len(b.usable)
	block := make([]int64, 2*maxGoods*n)
	for i := range s.levels {
		s.levels[i].amount, s.levels[i].would = block[2*i*n:(2*i+1)*n], block[(2*i+1)*n:(2*i+2)*n]
	}
	s.levels[0].lines, s.levels[0].made = b.amounts, true
	for i := range b.usable {
		s.levels[0].amount[i], s.levels[0].would[i] = b.usable[i].amount, b.usable[i].alone
	}
	return s
}

// run looks at the empty set, and from there at all others.
func (s *search) run() {
	all := lowest(len(s.b.usable))
	s.nodes = 1
	root := set{payable: s.b.totalMinor}
	s.offer(root, all)
	s.branch(root, all)
}

// branch tries each goods coupon that comes after those of the set and combines with
// them all. The payable of the set is without any coupon for shipping.
func (s *search) branch(at set, free uint64) {
	l := &s.levels[at.n]
	later := free & s.goods
	if at.n > 0 {
		later &= after(at.members[at.n-1])
		s.measure(at.n, later)
	}
	for m := later; m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m)
		if l.would[i] == 0 {
			continue // as good as without it
		}
		next := at.with(i)
		next.payable -= l.would[i]
		with := free & s.partners[i]
		if bound := s.bound(next.payable, l, with&later&after(i), maxGoods-next.n, with); s.worse(bound, next.n) {
			continue
		} else if s.nodes == maxNodes {
			s.cut, s.open = true, min(s.open, bound)
			continue
		}
		s.nodes++
		s.offer(next, with)
		if next.n < maxGoods {
			s.levels[next.n].last, s.levels[next.n].off, s.levels[next.n].made = i, l.would[i], false
			s.branch(next, with)
		}
	}
}

// worse says whether no set of at least n coupons and of that payable or more can win.
// Ties with as many coupons can.
func (s *search) worse(payable int64, n int) bool {
	return payable > s.best.payable || payable == s.best.payable && n > s.best.n
}

// offer completes a set with its best coupon for shipping, the first that combines with
// all of it: goods and shipping take nothing from each other.
func (s *search) offer(of set, free uint64) {
	if shipping := free &^ lowest(s.b.goods); shipping != 0 {
		i := bits.TrailingZeros64(shipping)
		of = of.with(i)
		of.payable -= s.b.usable[i].alone
	}
	if s.b.better(&of, &s.best) {
		s.best = of
	}
}

// measure finds what each of these coupons would take off at this level.
func (s *search) measure(n int, coupons uint64) {
	l, before := &s.levels[n], &s.levels[n-1]
	within, apart := s.within[l.last], s.apart[l.last]
	for m := coupons; m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m)
		switch bit := uint64(1) << i; {
		case within&bit != 0:
			l.amount[i] = before.amount[i] - l.off
		case apart&bit != 0:
			l.amount[i] = before.amount[i]
		default:
			l.amount[i] = s.b.usable[i].scope.sumOf(s.linesAt(n))
		}
		l.would[i] = s.b.usable[i].off(l.amount[i])
	}
}

// linesAt makes the running amounts of a level, once.
func (s *search) linesAt(n int) []int64 {
	l := &s.levels[n]
	if !l.made {
		before := s.linesAt(n - 1)
		l.lines = append(l.lines[:0], before...)
		scope := s.b.usable[l.last].scope
		s.take(l.off, s.levels[n-1].amount[l.last], l.lines, scope)
		l.made = true
	}
	return l.lines
}

// bound is a payable below which no set can come that adds, to one that costs payable, n
// more of these coupons and one of the others for shipping: each takes less once others
// have applied.
func (s *search) bound(payable int64, l *level, goods uint64, n int, shipping uint64) int64 {
	var most top
	for m := goods; m != 0 && n > 0; m &= m - 1 {
		most.show(l.would[bits.TrailingZeros64(m)])
	}
	payable = most.off(payable, n)
	if shipping &^= lowest(s.b.goods); shipping != 0 {
		payable = max(payable-s.b.usable[bits.TrailingZeros64(shipping)].alone, 0)
	}
	return payable
}

// lowest is the mask of the n first coupons, n ≤ 64.
func lowest(n int) uint64 { return 1<<n - 1 }

// after is the mask of the coupons after i.
func after(i int) uint64 { return ^uint64(0) << i << 1 }
