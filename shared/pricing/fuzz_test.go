package pricing_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"sluice/shared/coupon"
	"sluice/shared/pricing"
)

// A cart in bytes is a row of things, each a letter and its numbers: L a line, P a parcel,
// C a coupon, M that many times 100 lines more.
const couponNumbers = 15

func things(all ...[]byte) []byte { return slices.Concat(all...) }

func thing(letter byte, numbers ...int64) []byte {
	b := []byte{letter}
	for _, n := range numbers {
		b = binary.AppendVarint(b, n)
	}
	return b
}

// plain is a coupon without more than its kind, value and threshold; n is its id.
func plain(n, kind, value, minimum int64) []byte {
	return thing('C', n, kind, value, minimum, 0, 0, 0, 1, n%7, 0xff, 0, 0, 0, 0, 0)
}

// numbers reads what there is, and zeros after it.
func numbers(data *bytes.Reader, n int) []int64 {
	list := make([]int64, n)
	for i := range list {
		list[i], _ = binary.ReadVarint(data)
	}
	return list
}

func decode(text []byte) pricing.Cart {
	c := pricing.Cart{Currency: "CNY", At: noon}
	data := bytes.NewReader(text)
	for {
		letter, err := data.ReadByte()
		if err != nil {
			return c
		}
		switch letter {
		case 'L':
			n := numbers(data, 4)
			c.Lines = append(c.Lines, pricing.Line{ID: fmt.Sprint("l", n[0]), Merchant: bit("m", n[1]), SKU: bit("s", n[1]>>2), Category: bit("c", n[1]>>4), Quantity: n[2], UnitPriceMinor: n[3]})
		case 'P':
			n := numbers(data, 2)
			c.Shipping = append(c.Shipping, pricing.Parcel{Merchant: bit("m", n[0]), FeeMinor: n[1]})
		case 'C':
			c.Coupons = append(c.Coupons, decodeCoupon(numbers(data, couponNumbers)))
		case 'M':
			for i := range min(max(0, numbers(data, 1)[0]), 100) * 100 {
				c.Lines = append(c.Lines, pricing.Line{ID: fmt.Sprint("many", i), Merchant: bit("m", i), SKU: bit("s", i>>2), Quantity: 1 + i%3, UnitPriceMinor: 100 + i})
			}
		}
	}
}

func decodeCoupon(n []int64) pricing.Coupon {
	k := pricing.Coupon{ID: fmt.Sprint("k", n[0])}
	k.Kind = []coupon.Kind{coupon.KindAmount, coupon.KindPercent, coupon.KindFreeShipping, "gift"}[n[1]&3]
	k.Value, k.MinAmountCents, k.CapMinor = n[2], n[3], n[4]
	k.Scope = coupon.Scope{Merchants: bits("m", n[5]), SKUs: bits("s", n[5]>>4), Categories: bits("c", n[5]>>8)}
	k.Layer = []coupon.Layer{coupon.LayerPlatform, coupon.LayerMerchant}[n[6]&1]
	k.Currency = []string{"USD", "CNY"}[n[7]&1]
	k.Group, k.StackWith = fmt.Sprint("g", n[8]&7), bits("g", n[9])
	k.IfGone = coupon.GoneHonour
	if n[10] != 0 {
		k.StartsAt = noon.AddDate(0, 0, int(n[10]&3)-2)
	}
	if n[11] != 0 {
		k.EndsAt = noon.AddDate(0, 0, int(n[11]&7)-1)
	}
	for i, bps := range n[12:14] {
		if bps != 0 {
			k.Bearers = append(k.Bearers, coupon.Bearer{Party: fmt.Sprint("party", i), BPS: bps})
		}
	}
	rest := int64(coupon.FullBPS)
	for _, b := range k.Bearers {
		rest -= b.BPS
	}
	if rest += n[14]; rest != 0 { // wrong by the last number
		k.Bearers = append(k.Bearers, coupon.Bearer{Party: "platform", BPS: rest})
	}
	return k
}

func bit(prefix string, n int64) string { return fmt.Sprint(prefix, n&3) }

func bits(prefix string, n int64) (list []string) {
	for i := range 4 {
		if n>>i&1 == 1 {
			list = append(list, fmt.Sprint(prefix, i))
		}
	}
	return list
}

// broken says what a cart is refused for, "" if it is priced.
func broken(c pricing.Cart) string {
	seen := map[string]bool{}
	total, term := new(big.Int), new(big.Int)
	add := func(a, b int64) { total.Add(total, term.Mul(big.NewInt(a), big.NewInt(b))) }
	twice := func(kind, id string) bool {
		defer func() { seen[kind+" "+id] = true }()
		return seen[kind+" "+id]
	}
	for _, l := range c.Lines {
		if twice("line", l.ID) || l.Quantity < 1 || l.UnitPriceMinor < 0 {
			return "line " + l.ID
		}
		add(l.Quantity, l.UnitPriceMinor)
	}
	for _, p := range c.Shipping {
		if twice("parcel", p.Merchant) || p.FeeMinor < 0 {
			return "parcel " + p.Merchant
		}
		add(1, p.FeeMinor)
	}
	if !total.IsInt64() {
		return "total"
	}
	for _, k := range c.Coupons {
		if twice("coupon", k.ID) || brokenCoupon(k) {
			return "coupon " + k.ID
		}
	}
	return ""
}

func brokenCoupon(k pricing.Coupon) bool {
	sum := int64(0)
	for _, b := range k.Bearers {
		if b.BPS < 1 || b.BPS > coupon.FullBPS {
			return true
		}
		sum += b.BPS
	}
	if sum != coupon.FullBPS || k.MinAmountCents < 0 || k.CapMinor < 0 || !k.StartsAt.IsZero() && !k.EndsAt.IsZero() && !k.EndsAt.After(k.StartsAt) {
		return true
	}
	switch k.Kind {
	case coupon.KindAmount:
		return k.Value < 1 || k.CapMinor > 0
	case coupon.KindPercent:
		return k.Value < 1 || k.Value > 100
	case coupon.KindFreeShipping:
		return k.Value != 0
	}
	return true
}

func FuzzBest(f *testing.F) {
	line := thing('L', 1, 0, 2, 9_999)
	var many [][]byte
	for i := range int64(65) {
		many = append(many, plain(i, i&1, 1+i, i))
	}
	for _, seed := range [][]byte{
		nil, // empty
		line,
		plain(1, 0, 500, 0), // no lines
		// A threshold met exactly; ids that are there twice.
		things(line, plain(1, 0, 500, 19_998)),
		things(line, line, plain(1, 0, 500, 0)),
		things(line, plain(1, 0, 1, 0), plain(1, 1, 9, 0)),
		things(line, thing('P', 1, 5), thing('P', 1, 5)),
		// Beyond the largest amount: a line, a total; and the largest.
		thing('L', 1, 0, math.MaxInt64, math.MaxInt64),
		things(thing('L', 1, 0, 1, math.MaxInt64), thing('P', 0, 1)),
		things(thing('L', 1, 0, 1, math.MaxInt64), plain(1, 1, 99, math.MaxInt64)),
		// Negative.
		thing('L', 1, 0, -1, 5), thing('L', 1, 0, 1, -5), thing('P', 1, -1), things(line, plain(1, 0, -1, 0)), things(line, plain(1, 0, 1, -1)),
		// 10,000 lines; more coupons than are tried; another currency; nothing to pay.
		things(thing('M', 100), plain(1, 1, 85, 0), plain(2, 0, 12_345, 0), plain(3, 2, 0, 0)),
		things(append(many, line, thing('M', 1))...),
		things(line, thing('C', 1, 0, 500, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)),
		things(thing('L', 1, 0, 1, 0), plain(1, 0, 5, 0)),
		// Several bearers, a cap, parcels; coupons of two layers; shares of more than all.
		things(line, thing('P', 0, 700), thing('P', 1, 300), thing('C', 1, 2, 0, 0, 999, 1, 0, 1, 0, 0, 0, 0, 3_333, 3_333, 0)),
		things(line, thing('L', 2, 5, 3, 333), thing('C', 1, 1, 85, 0, 0, 0, 1, 1, 0, 0xff, 1, 5, 7_000, 0, 0), plain(2, 0, 100, 0), plain(3, 0, 100, 0)),
		things(line, thing('C', 1, 0, 500, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 5)),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if c := decode(text); len(c.Coupons) <= 200 {
			checkBest(t, c)
		}
	})
}

func checkBest(t *testing.T, c pricing.Cart) {
	t.Helper()
	got, err := pricing.Best(c)
	if why := broken(c); why != "" {
		var invalid *pricing.InvalidError
		if !errors.As(err, &invalid) || invalid.Field == "" || invalid.Detail == "" {
			t.Fatalf("%s is broken, and the error is %v", why, err)
		}
		return
	}
	if err != nil {
		t.Fatalf("the cart is refused: %v\n%s", err, inJSON(c))
	}
	checkSums(t, c, got)
	if len(c.Coupons) > 10 || len(c.Lines) > 40 {
		return
	}
	if d := difference(t, c); d != "" {
		t.Fatalf("%s\n%s", d, inJSON(c))
	}
}

// checkSums holds a quote against what is true of any.
func checkSums(t *testing.T, c pricing.Cart, q pricing.Quote) {
	t.Helper()
	want := pricing.Quote{}
	for _, l := range c.Lines {
		want.PayableMinor += l.Quantity * l.UnitPriceMinor
	}
	for _, p := range c.Shipping {
		want.PayableMinor += p.FeeMinor
	}
	var lines, coupons, bearers, shares int64
	for _, l := range q.Lines {
		lines += l.DiscountMinor
		if l.PayableMinor < 0 || l.DiscountMinor < 0 || l.PayableMinor+l.DiscountMinor != l.AmountMinor {
			t.Errorf("line %+v", l)
		}
	}
	for _, p := range q.Shipping {
		lines += p.DiscountMinor
		if p.PayableMinor < 0 || p.DiscountMinor < 0 || p.PayableMinor+p.DiscountMinor != p.AmountMinor {
			t.Errorf("parcel %+v", p)
		}
	}
	known := map[string]bool{}
	for _, u := range q.Coupons {
		coupons += u.DiscountMinor
		known[u.ID] = true
	}
	for _, r := range q.Rejected {
		known[r.ID] = true
	}
	for _, b := range q.Bearers {
		bearers += b.DiscountMinor
	}
	for _, s := range q.Shares {
		shares += s.DiscountMinor
		if s.DiscountMinor < 1 {
			t.Errorf("share %+v", s)
		}
	}
	d := q.DiscountMinor
	if q.PayableMinor < 0 || d < 0 || q.PayableMinor+d != want.PayableMinor || lines != d || coupons != d || bearers != d || shares != d {
		t.Errorf("payable %d, discount %d, of lines and parcels %d, coupons %d, bearers %d, shares %d; the cart is %d", q.PayableMinor, d, lines, coupons, bearers, shares, want.PayableMinor)
	}
	if len(q.Coupons)+len(q.Rejected) != len(c.Coupons) || len(known) != len(c.Coupons) || len(q.Lines) != len(c.Lines) || len(q.Shipping) != len(c.Shipping) {
		t.Error("not every line, parcel and coupon is there once")
	}
	if q.Exact != (q.MaxMissed == nil) || q.Exact != (q.Method == pricing.MethodExact) {
		t.Errorf("exact %v, method %s, max missed %v", q.Exact, q.Method, q.MaxMissed)
	}
}

func FuzzBack(f *testing.F) {
	f.Add(int64(3), int64(1_000), int64(700), int64(3), int64(333), int64(1))
	f.Add(int64(1), int64(0), int64(0), int64(0), int64(0), int64(0))
	f.Add(int64(7), int64(math.MaxInt64/7), int64(math.MaxInt64/3), int64(5), int64(math.MaxInt64/5), int64(1<<61))
	f.Add(int64(1<<40), int64(1<<22), int64(1<<60), int64(1), int64(1), int64(1<<39))
	f.Fuzz(func(t *testing.T, quantity, price, a, b, c, d int64) {
		l := pricing.Line{ID: "l", Quantity: quantity, UnitPriceMinor: price}
		if broken(pricing.Cart{Lines: []pricing.Line{l}}) != "" {
			return
		}
		left := quantity * price
		charged := pricing.ChargedLine{ID: "l", Quantity: quantity, UnitPriceMinor: price}
		for i, share := range []int64{a, b, c, d} {
			if share = min(max(0, share), left); share > 0 {
				charged.Shares = append(charged.Shares, pricing.Share{CouponID: fmt.Sprint("k", i/2), LineID: "l", Party: fmt.Sprint("p", i%2), DiscountMinor: share})
				left -= share
			}
		}
		charged.NetMinor = left
		if d := lineDifference(charged, l, partsOf(charged.Shares, nil, func(pricing.Share) bool { return true })); d != "" {
			t.Fatal(d)
		}
		checkBack(t, charged)
	})
}

// checkBack: what goes back only grows, money and discounts are the price of the units,
// and the last one closes every sum.
func checkBack(t *testing.T, l pricing.ChargedLine) {
	t.Helper()
	before := map[string]int64{}
	for _, k := range units(l.Quantity) {
		money, shares := l.Back(k)
		now, sum := map[string]int64{"": money}, money
		for _, s := range shares {
			now[s.CouponID+s.Party] += s.DiscountMinor
			sum += s.DiscountMinor
		}
		for who, had := range before {
			if now[who] < had {
				t.Fatalf("after %d units %q has %d back, before it was %d", k, who, now[who], had)
			}
		}
		if before = now; sum != k*l.UnitPriceMinor {
			t.Fatalf("%d units cost %d, back are %d", k, k*l.UnitPriceMinor, sum)
		}
	}
	if money, shares := l.Back(l.Quantity); money != l.NetMinor || !sameShares(shares, l.Shares) {
		t.Fatalf("in the end %d is back, %+v", money, shares)
	}
}
