package pricing

import "math/bits"

// bitset is a set of small numbers. Two that are compared are of one length.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, words(n)) }

func words(n int) int { return (n + 63) / 64 }

// bitsets are many, made at once.
type bitsets []uint64

// newBitsets has count sets of each of the sizes.
func newBitsets(count int, sizes ...int) bitsets {
	total := 0
	for _, n := range sizes {
		total += words(n)
	}
	return make(bitsets, count*total)
}

func (s *bitsets) next(n int) bitset {
	set := bitset((*s)[:words(n):words(n)])
	*s = (*s)[words(n):]
	return set
}

func (s bitset) add(i int) { s[i/64] |= 1 << (i % 64) }

func (s bitset) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

func (s bitset) len() int {
	n := 0
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// within says whether all of s is in t.
func (s bitset) within(t bitset) bool {
	for k, word := range s {
		if word&^t[k] != 0 {
			return false
		}
	}
	return true
}

// apart says whether nothing of s is in t.
func (s bitset) apart(t bitset) bool {
	for k, word := range s {
		if word&t[k] != 0 {
			return false
		}
	}
	return true
}

// sumOf adds up the amounts at the numbers of s.
func (s bitset) sumOf(amounts []int64) int64 {
	total := int64(0)
	for k, word := range s {
		for ; word != 0; word &= word - 1 {
			total += amounts[k*64+bits.TrailingZeros64(word)]
		}
	}
	return total
}
