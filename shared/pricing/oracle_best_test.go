package pricing_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"

	"sluice/shared/devstack"
	"sluice/shared/pricing"
)

// A cart's number is its seed: one that is found once is found again.
func TestBest_IsWhatTryingEveryCombinationFinds(t *testing.T) {
	t.Parallel()
	n := 2_000
	if devstack.Long() {
		n = 100_000
	}
	numbers := make(chan int, n)
	for i := range n {
		numbers <- i
	}
	close(numbers)
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := range numbers {
				if t.Failed() {
					return
				}
				r := newCarts(uint64(i))
				c := r.cart(r.IntN(9) + r.IntN(2)*r.IntN(6))
				if difference(t, c) != "" {
					c = smaller(t, c)
					t.Errorf("cart of seed %d, without what does not matter:\n%s\n%s", i, inJSON(c), difference(t, c))
				}
			}
		})
	}
	group.Wait()
}

func TestBest_OfTheKnownCarts(t *testing.T) {
	t.Parallel()
	for _, e := range examples(t) {
		if d := difference(t, e.Cart); d != "" {
			t.Errorf("%s: %s", e.Name, d)
		}
	}
}

// difference says in what the answers for a cart are not those of the oracle.
func difference(t testing.TB, c pricing.Cart) string {
	t.Helper()
	before := inJSON(c)
	o := newOracle(c)
	want := o.best()
	got, err := pricing.Best(c)
	if err != nil {
		return "error: " + err.Error()
	}
	switch a, b := answer(t, got), answer(t, want); {
	case !got.Exact || got.MaxMissed != nil || got.Method != pricing.MethodExact:
		return fmt.Sprintf("not exact: method %s, %d nodes", got.Method, got.Nodes)
	case a != b:
		return fmt.Sprintf("got\n%s\nwant\n%s", a, b)
	case got.Currency != c.Currency:
		return "the currency is " + got.Currency
	case !sameShares(got.Shares, want.Shares):
		return fmt.Sprintf("shares\n%+v\nwant\n%+v", got.Shares, want.Shares)
	case inJSON(c) != before:
		return "the cart was changed"
	}
	if d := refundDifference(o, got); d != "" {
		return d
	}
	return exactlyDifference(t, c, want)
}

// refundDifference looks at what goes back after any number of units, with all coupons
// and without the first one.
func refundDifference(o oracle, q pricing.Quote) string {
	withouts := [][]string{nil}
	if len(q.Coupons) > 0 {
		withouts = append(withouts, []string{q.Coupons[0].ID})
	}
	for _, without := range withouts {
		charged := pricing.Charge(o.cart, q, without...)
		if len(charged.Lines) != len(o.lines) || len(charged.Shipping) != len(o.parcels) {
			return "not every line and parcel is charged"
		}
		for i, l := range o.lines {
			if d := lineDifference(charged.Lines[i], l, partsOf(q.Shares, without, func(s pricing.Share) bool { return !s.Parcel && s.LineID == l.ID })); d != "" {
				return fmt.Sprintf("charged without %v: line %s: %s", without, l.ID, d)
			}
		}
		for i, p := range o.parcels {
			parts := partsOf(q.Shares, without, func(s pricing.Share) bool { return s.Parcel && s.Merchant == p.Merchant })
			net, shares := p.FeeMinor, []pricing.Share{}
			for _, part := range parts {
				net -= part.sum
				shares = append(shares, part.parties...)
			}
			got := charged.Shipping[i]
			money, back := got.Back()
			if got.Merchant != p.Merchant || got.FeeMinor != p.FeeMinor || got.NetMinor != net || money != net || !sameShares(got.Shares, shares) || !sameShares(back, shares) {
				return fmt.Sprintf("charged without %v: parcel %+v, back %d %+v, want %d %+v", without, got, money, back, net, shares)
			}
		}
	}
	return ""
}

func lineDifference(got pricing.ChargedLine, l pricing.Line, parts []part) string {
	net := l.Quantity * l.UnitPriceMinor
	for _, p := range parts {
		net -= p.sum
	}
	if got.ID != l.ID || got.Quantity != l.Quantity || got.UnitPriceMinor != l.UnitPriceMinor || got.NetMinor != net {
		return fmt.Sprintf("charged %+v, want %d of %+v", got, net, l)
	}
	for _, k := range units(l.Quantity) {
		money, shares := got.Back(k)
		wantMoney, wantShares := back(l, parts, k)
		if money != wantMoney || !sameShares(shares, wantShares) {
			return fmt.Sprintf("after %d of %d units %d is back, reversed %+v, want %d, %+v", k, l.Quantity, money, shares, wantMoney, wantShares)
		}
	}
	return ""
}

// units of a line that may have gone back: every number, of many units some.
func units(q int64) (ks []int64) {
	step := max(1, q/60)
	for k := int64(0); k < q-step; k += step {
		ks = append(ks, k)
	}
	return append(ks, q-1, q)
}

// exactlyDifference asks for the coupons that were found, and for all there are.
func exactlyDifference(t testing.TB, c pricing.Cart, best pricing.Quote) string {
	t.Helper()
	all := c.Coupons
	c.Coupons = slices.DeleteFunc(slices.Clone(all), func(k pricing.Coupon) bool {
		return !slices.ContainsFunc(best.Coupons, func(u pricing.Used) bool { return u.ID == k.ID })
	})
	best.Rejected = []pricing.Rejection{}
	if got, err := pricing.Exactly(c); err != nil || answer(t, got) != answer(t, best) || !sameShares(got.Shares, best.Shares) {
		return fmt.Sprintf("exactly the best ones: %v\n%s\nwant\n%s", err, answer(t, got), answer(t, best))
	}
	c.Coupons = all
	o := newOracle(c)
	want := map[string]pricing.Reason{}
	for _, k := range all {
		if reason := o.unfit(k); reason != "" {
			want[k.ID] = reason
		}
	}
	got, err := pricing.Exactly(c)
	applied := o.apply(all)
	if len(want) == 0 && feasible(all) && len(applied) == len(all) {
		if q := o.quote(applied, nil); err != nil || answer(t, got) != answer(t, q) {
			return fmt.Sprintf("exactly all: %v\n%s\nwant\n%s", err, answer(t, got), answer(t, q))
		}
		return ""
	}
	var refused *pricing.NotExactlyError
	if !errors.As(err, &refused) || len(refused.Rejected) == 0 {
		return fmt.Sprintf("exactly all: %v, should be refused", err)
	}
	for _, rejected := range refused.Rejected {
		if reason := want[rejected.ID]; reason != "" && reason != rejected.Reason {
			return fmt.Sprintf("exactly all: %s is refused as %s, should be as %s", rejected.ID, rejected.Reason, reason)
		}
		delete(want, rejected.ID)
	}
	if len(want) > 0 {
		return fmt.Sprintf("exactly all: %v are not among the refused %v", want, refused.Rejected)
	}
	return ""
}

func sameShares(a, b []pricing.Share) bool {
	return len(a) == len(b) && (len(a) == 0 || reflect.DeepEqual(a, b))
}

func inJSON(c pricing.Cart) string {
	text, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		panic(err)
	}
	return string(text)
}
