package pricing

import (
	"cmp"
	"slices"

	"sluice/shared/coupon"
)

// basket is a cart that can be priced, in the order in which things are computed: so
// nothing depends on the order in which they came.
type basket struct {
	cart       *Cart
	lines      []Line  // ascending by id
	amounts    []int64 // of the lines
	parcels    []Parcel
	fees       []int64 // of the parcels, which are ascending by merchant
	totalMinor int64   // goods and fees
	eligible   int     // coupons
	usable     []*usable
	goods      int         // usable[:goods] apply to goods, in this order; the others to shipping, the best first
	ends, ids  []int       // of the usable: their ranks by ends_at, by id; equal ends have one rank
	rejected   []Rejection // coupons that are not usable
}

// usable is an eligible coupon that takes something off, at least alone.
type usable struct {
	*Coupon
	scope  bitset // lines, or parcels for free shipping
	amount int64  // of the scope, in the cart
	alone  int64  // what it takes off alone

	group    int    // number of its group
	partners bitset // groups that it names
	ends, id int    // its ranks
}

// newBasket refuses what cannot be priced: *InvalidError.
func newBasket(c *Cart) (*basket, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	b := &basket{cart: c}
	if err := b.setLines(); err != nil {
		return nil, err
	}
	if err := b.setParcels(); err != nil {
		return nil, err
	}
	order, err := ascending(len(c.Coupons), func(i int) string { return c.Coupons[i].ID }, "coupons[%d].id")
	if err != nil {
		return nil, err
	}
	b.judge(order)
	b.arrange()
	return b, nil
}

func (b *basket) setLines() error {
	order, err := ascending(len(b.cart.Lines), func(i int) string { return b.cart.Lines[i].ID }, "lines[%d].id")
	if err != nil {
		return err
	}
	b.lines, b.amounts = make([]Line, len(order)), make([]int64, len(order))
	for k, i := range order {
		l := b.cart.Lines[i]
		b.lines[k], b.amounts[k] = l, l.Quantity*l.UnitPriceMinor
		b.totalMinor += b.amounts[k]
	}
	return nil
}

func (b *basket) setParcels() error {
	order, err := ascending(len(b.cart.Shipping), func(i int) string { return b.cart.Shipping[i].Merchant }, "shipping[%d].merchant")
	if err != nil {
		return err
	}
	b.parcels, b.fees = make([]Parcel, len(order)), make([]int64, len(order))
	for k, i := range order {
		p := b.cart.Shipping[i]
		b.parcels[k], b.fees[k] = p, p.FeeMinor
		b.totalMinor += p.FeeMinor
	}
	return nil
}

// arrange puts the usable coupons in order.
func (b *basket) arrange() {
	slices.SortFunc(b.usable, func(u, v *usable) int { return compareEnds(u.Coupon, v.Coupon) })
	for i, u := range b.usable {
		u.ends = i
		if i > 0 && compareEnds(b.usable[i-1].Coupon, u.Coupon) == 0 {
			u.ends = b.usable[i-1].ends
		}
	}
	slices.SortFunc(b.usable, compareTurns)
	b.goods = 0
	for b.goods < len(b.usable) && b.usable[b.goods].Kind != coupon.KindFreeShipping {
		b.goods++
	}
	b.ends, b.ids = make([]int, len(b.usable)), make([]int, len(b.usable))
	for i, u := range b.usable {
		b.ends[i], b.ids[i] = u.ends, u.id
	}
}

// compareEnds puts first what ends first; what has no end is last.
func compareEnds(c, d *Coupon) int {
	switch {
	case c.EndsAt.IsZero() && d.EndsAt.IsZero():
		return 0
	case c.EndsAt.IsZero():
		return 1
	case d.EndsAt.IsZero():
		return -1
	}
	return c.EndsAt.Compare(d.EndsAt)
}

// compareTurns is the order in which goods coupons apply. Of the free-shipping ones,
// which come last, one set holds one at most: they are ordered by preference.
func compareTurns(s, t *usable) int {
	if c := cmp.Compare(turn(s.Coupon), turn(t.Coupon)); c != 0 {
		return c
	}
	if s.Kind == coupon.KindFreeShipping {
		return cmp.Or(cmp.Compare(t.alone, s.alone), s.ends-t.ends, s.id-t.id)
	}
	return s.id - t.id
}

func turn(c *Coupon) int {
	if c.Kind == coupon.KindFreeShipping {
		return 4
	}
	n := 0
	if c.Layer == coupon.LayerPlatform {
		n = 2
	}
	if c.Kind == coupon.KindAmount {
		n++
	}
	return n
}
