package pricing

import (
	"fmt"
	"slices"
	"strings"
)

// Best prices the cart with the feasible set of its coupons that costs least. Of sets that
// cost the same it takes the one of fewer coupons, then of those that end first, then
// of the lesser ids. Its error is an *InvalidError.
func Best(c Cart) (Quote, error) {
	b, err := newBasket(&c)
	if err != nil {
		return Quote{}, err
	}
	incumbent := b.greedy()
	if b.eligible > maxExact {
		q := b.quote(incumbent)
		q.missed(b.floor())
		return q, nil
	}
	s := newSearch(b, incumbent)
	s.run()
	q := b.quote(s.best)
	q.Nodes = s.nodes
	if s.cut {
		q.missed(s.open)
	}
	return q, nil
}

// missed says that a better set may be there, down to the bound.
func (q *Quote) missed(bound int64) {
	missed := max(q.PayableMinor-bound, 0)
	q.Exact, q.Method, q.MaxMissed = false, MethodGreedy, &missed
}

// MaxShares bounds what Exactly spreads discounts over: lines and parcels in scope times
// bearers, of all coupons together. Whoever uses the coupons stores each of them.
const MaxShares = 40_000

// Exactly prices the cart with all of its coupons: nothing is searched. Its error is an
// *InvalidError, also for more than MaxShares, or a *NotExactlyError if one of the coupons
// does not take something off together with the others.
func Exactly(c Cart) (Quote, error) {
	b, err := newBasket(&c)
	if err != nil {
		return Quote{}, err
	}
	rejected := append(slices.Clone(b.rejected), b.conflicts()...)
	if len(rejected) == 0 {
		s := b.value(b.all(), &running{})
		rejected = b.leftOut(&s, ReasonNoEffect)
		if len(rejected) == 0 {
			return b.quoteExactly(s)
		}
	}
	slices.SortFunc(rejected, byID)
	return Quote{}, &NotExactlyError{Rejected: rejected}
}

// quoteExactly counts before it spreads anything.
func (b *basket) quoteExactly(s set) (Quote, error) {
	shares := 0
	for _, i := range s.members[:s.n] {
		shares += b.usable[i].scope.len() * len(b.usable[i].Bearers)
	}
	if shares > MaxShares {
		return Quote{}, invalid(fmt.Sprintf("would have discounts in %d shares, one for each line and bearer of a coupon: at most %d, so split the order", shares, MaxShares), "lines")
	}
	return b.quote(s), nil
}

// all is the set of all usable coupons, of which there are few enough.
func (b *basket) all() set {
	var s set
	for i := range b.usable {
		s = s.with(i)
	}
	return s
}

// conflicts are the usable coupons that cannot all be used together: those that do not
// combine with another one, and kinds of which there are too many.
func (b *basket) conflicts() []Rejection {
	var all []Rejection
	for i := range b.usable {
		if b.conflicting(i) {
			all = append(all, Rejection{b.usable[i].ID, ReasonNotCombinable})
		}
	}
	return all
}

func (b *basket) conflicting(i int) bool {
	shipping := len(b.usable) - b.goods
	if i < b.goods && b.goods > maxGoods || i >= b.goods && shipping > 1 {
		return true
	}
	for j := range b.usable {
		if i != j && !combines(b.usable[i], b.usable[j]) {
			return true
		}
	}
	return false
}

// leftOut are the usable coupons that are not in the set.
func (b *basket) leftOut(s *set, reason Reason) []Rejection {
	var out []Rejection
	for i := range b.usable {
		if !s.has(i) {
			out = append(out, Rejection{b.usable[i].ID, reason})
		}
	}
	return out
}

func byID(r, s Rejection) int { return strings.Compare(r.ID, s.ID) }
