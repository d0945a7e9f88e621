package pricing

import (
	"math"
	"math/big"
	"testing"
)

// edges are amounts at which something could go wrong, products of which exceed int64.
var edges = []int64{0, 1, 2, 49, 50, 99, 100, 101, 1<<31 - 1, 1 << 31, 1<<32 + 1, math.MaxInt64 / 100, math.MaxInt64/100 + 1, math.MaxInt64/2 + 1, math.MaxInt64 - 1, math.MaxInt64}

func whole(q *big.Int, add, by int64) (int64, int64) {
	quotient, rest := new(big.Int).QuoRem(q.Add(q, big.NewInt(add)), big.NewInt(by), new(big.Int))
	return quotient.Int64(), rest.Int64()
}

func times(a, b int64) *big.Int { return new(big.Int).Mul(big.NewInt(a), big.NewInt(b)) }

func TestAmounts_AsWithoutBounds(t *testing.T) {
	t.Parallel()
	for _, a := range edges {
		for percent := int64(1); percent <= 100; percent++ {
			if want, _ := whole(times(a, percent), 50, 100); percentOf(a, percent) != want {
				t.Errorf("%d %% of %d: %d, want %d", percent, a, percentOf(a, percent), want)
			}
		}
		for _, bps := range []int64{1, 3333, 5000, 9999, 10000} {
			for _, of := range []int64{bps, bps + 1, 10000} {
				doubled := times(a, 2*bps)
				if want, _ := whole(doubled, of, 2*of); bps <= of && roundedShareOf(a, bps, of) != want {
					t.Errorf("%d parts in %d of %d: %d, want %d", bps, of, a, roundedShareOf(a, bps, of), want)
				}
			}
		}
		for _, b := range edges {
			exact := times(a, b)
			if p, fits := product(a, b); fits != exact.IsInt64() || fits && p != exact.Int64() {
				t.Errorf("%d · %d: %d, fits: %v", a, b, p, fits)
			}
			for _, c := range edges[1:] {
				if b > c {
					continue
				}
				q, r := shareOf(a, b, c)
				if wantQ, wantR := whole(times(a, b), 0, c); q != wantQ || r != wantR {
					t.Errorf("%d · %d / %d: %d and %d, want %d and %d", a, b, c, q, r, wantQ, wantR)
				}
			}
		}
	}
}
