package pricing

import "math/bits"

// Amounts are int64 and never negative; products of two of them are taken in 128 bits.

// product is a·b, unless that exceeds int64.
func product(a, b int64) (p int64, fits bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return int64(lo), hi == 0 && int64(lo) >= 0
}

// sum is a+b, unless that exceeds int64.
func sum(a, b int64) (s int64, fits bool) {
	s = a + b
	return s, s >= 0
}

// shareOf is ⌊a·part/whole⌋ and what that leaves over. part ≤ whole, whole > 0: so the quotient fits.
func shareOf(a, part, whole int64) (quotient, remainder int64) {
	hi, lo := bits.Mul64(uint64(a), uint64(part))
	q, r := bits.Div64(hi, lo, uint64(whole))
	return int64(q), int64(r)
}

// roundedShareOf is a·part/whole rounded half up: ⌊(2·a·part + whole) / (2·whole)⌋.
// part ≤ whole, 0 < whole ≤ coupon.FullBPS.
func roundedShareOf(a, part, whole int64) int64 {
	hi, lo := bits.Mul64(2*uint64(a), uint64(part))
	lo, carry := bits.Add64(lo, uint64(whole), 0)
	q, _ := bits.Div64(hi+carry, lo, 2*uint64(whole))
	return int64(q)
}

// percentOf is ⌊(x·percent + 50) / 100⌋, for percent 1 to 100.
func percentOf(x, percent int64) int64 {
	hi, lo := bits.Mul64(uint64(x), uint64(percent))
	lo, carry := bits.Add64(lo, 50, 0)
	hi += carry
	if hi == 0 {
		return int64(lo / 100)
	}
	q, _ := bits.Div64(hi, lo, 100)
	return int64(q)
}
