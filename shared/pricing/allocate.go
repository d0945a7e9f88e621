package pricing

import (
	"math/bits"
	"slices"
)

// leftover is what the division of a discount leaves at one amount.
type leftover struct {
	remainder, amount int64
	at                int
}

// allocator takes discounts off many amounts, by largest remainder.
type allocator struct {
	leftovers []leftover // reused
}

// take takes the discount off the amounts in scope, in proportion to them: whole is
// their sum, and at least the discount. What the floors leave goes, one each, to the
// largest remainders, of those to the larger amount, of those to the first. An amount
// that gets one has a remainder, so none falls below zero.
func (a *allocator) take(discount, whole int64, amounts []int64, scope bitset) {
	if discount == 0 {
		return
	}
	a.leftovers = a.leftovers[:0]
	left := discount
	for k, word := range scope {
		for ; word != 0; word &= word - 1 {
			i := k*64 + bits.TrailingZeros64(word)
			part, remainder := shareOf(discount, amounts[i], whole)
			if remainder > 0 {
				a.leftovers = append(a.leftovers, leftover{remainder, amounts[i], i})
			}
			amounts[i] -= part
			left -= part
		}
	}
	for _, l := range firstOf(a.leftovers, int(left)) {
		amounts[l.at]--
	}
}

// before says which of two gets one first.
func (l *leftover) before(m *leftover) bool {
	switch {
	case l.remainder != m.remainder:
		return l.remainder > m.remainder
	case l.amount != m.amount:
		return l.amount > m.amount
	}
	return l.at < m.at
}

// firstOf puts the n that get one first in front, in any order, and returns them. It
// divides as quicksort does, but goes on with one side only; where that does not
// shrink as it should, the side is sorted.
func firstOf(all []leftover, n int) []leftover {
	side, want := all, n
	for rounds := 2 * bits.Len(uint(len(all))); 0 < want && want < len(side); rounds-- {
		if rounds == 0 || len(side) < 4 {
			sortLeftovers(side)
			break
		}
		if k := divide(side); want <= k {
			side = side[:k]
		} else {
			side, want = side[k+1:], want-k-1
		}
	}
	return all[:n]
}

// divide puts one at k, with those in front that come before it.
func divide(side []leftover) (k int) {
	first, middle, last := 0, len(side)/2, len(side)-1
	for _, two := range [][2]int{{first, middle}, {middle, last}, {first, middle}} {
		if side[two[1]].before(&side[two[0]]) {
			side[two[0]], side[two[1]] = side[two[1]], side[two[0]]
		}
	}
	side[middle], side[last] = side[last], side[middle]
	pivot := side[last]
	for i := range side[:last] {
		if side[i].before(&pivot) {
			side[i], side[k] = side[k], side[i]
			k++
		}
	}
	side[k], side[last] = side[last], side[k]
	return k
}

func sortLeftovers(side []leftover) {
	slices.SortFunc(side, func(l, m leftover) int {
		if l.before(&m) {
			return -1
		}
		return 1
	})
}
