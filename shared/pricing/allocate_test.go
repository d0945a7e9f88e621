package pricing

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"sluice/shared/coupon"
)

// leftoversOf are n that are shuffled, sorted either way, or sorted to the middle and
// back, of so many remainders and amounts that there are ties.
func leftoversOf(r *rand.Rand, n int) []leftover {
	all := make([]leftover, n)
	for i := range all {
		all[i] = leftover{1 + r.Int64N(5), 1 + r.Int64N(3), i}
	}
	switch order := r.IntN(4); order {
	case 0:
		r.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
	case 1, 2:
		sortLeftovers(all)
		if order == 2 {
			slices.Reverse(all)
		}
	default:
		sortLeftovers(all)
		slices.Reverse(all[n/2:])
	}
	return all
}

func TestFirstOf_AreThoseThatSortingPutsFirst(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 5))
		all := leftoversOf(r, 1+r.IntN(200))
		n := r.IntN(len(all) + 1)
		sorted := slices.Clone(all)
		sortLeftovers(sorted)
		first := slices.Clone(firstOf(all, n))
		sortLeftovers(first)
		if !slices.Equal(first, sorted[:n]) {
			t.Fatalf("seed %d: of %d the first %d are %v, want %v", seed, len(all), n, first, sorted[:n])
		}
		sortLeftovers(all)
		if !slices.Equal(all, sorted) {
			t.Fatalf("seed %d: others came of it", seed)
		}
	}
}

func TestTake_TakesTheDiscountOfThoseInScopeAndNoneBelowZero(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 6))
		n := 1 + r.IntN(130)
		most := []int64{3, 10000, math.MaxInt64/int64(n) - 1}[r.IntN(3)]
		amounts, scope := make([]int64, n), newBitset(n)
		for i := range amounts {
			if amounts[i] = r.Int64N(most + 1); r.IntN(3) > 0 {
				scope.add(i)
			}
		}
		before, whole := slices.Clone(amounts), scope.sumOf(amounts)
		discount := []int64{0, whole, r.Int64N(whole + 1)}[r.IntN(3)]
		var a allocator
		a.take(discount, whole, amounts, scope)
		if err := taken(before, amounts, scope, discount, whole); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// taken says what is wrong with amounts that were others before.
func taken(before, amounts []int64, scope bitset, discount, whole int64) error {
	sum := int64(0)
	for i, amount := range amounts {
		part := before[i] - amount
		sum += part
		if amount < 0 || part < 0 || part > 0 && !scope.has(i) {
			return fmt.Errorf("amount %d, in scope: %v, was %d and is %d", i, scope.has(i), before[i], amount)
		}
		if scope.has(i) && before[i] > 0 {
			if floor, _ := shareOf(discount, before[i], whole); part != floor && part != floor+1 {
				return fmt.Errorf("amount %d has %d taken off, want %d or one more", i, part, floor)
			}
		}
	}
	if sum != discount {
		return fmt.Errorf("%d is taken off, want %d", sum, discount)
	}
	return nil
}

// What a party has borne never shrinks from line to line, so no share is negative.
func TestBearing_SharesAreNotNegativeAndCloseTheDiscount(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 7))
		b := newBearing(someBearers(r))
		total := int64(0)
		for range 60 {
			part := []int64{0, 1, r.Int64N(10), r.Int64N(math.MaxInt64 / 100)}[r.IntN(4)]
			total += part
			sum := int64(0)
			for _, s := range b.next(nil, Share{}, part) {
				if sum += s.DiscountMinor; s.DiscountMinor <= 0 {
					t.Fatalf("seed %d: share %+v", seed, s)
				}
			}
			if sum != part {
				t.Fatalf("seed %d: %d of %d is borne", seed, sum, part)
			}
		}
		for i, p := range b.parties {
			due, _ := shareOf(total, p.BPS, 10000)
			if off := b.borne[i] - due; off < -int64(len(b.parties)) || off > int64(len(b.parties)) {
				t.Errorf("seed %d: %s has borne %d of %d at %d parts in 10000", seed, p.Party, b.borne[i], total, p.BPS)
			}
		}
	}
}

// someBearers are one to six parties, some of the least part there is.
func someBearers(r *rand.Rand) []coupon.Bearer {
	var all []coupon.Bearer
	left := int64(coupon.FullBPS)
	for i := range r.IntN(6) {
		bps := []int64{1, 3333, 1 + r.Int64N(2000)}[r.IntN(3)]
		if bps >= left {
			break
		}
		all, left = append(all, coupon.Bearer{Party: fmt.Sprint("p", i), BPS: bps}), left-bps
	}
	return append(all, coupon.Bearer{Party: "last", BPS: left})
}
