package pricing

import "sluice/shared/coupon"

// judge says of every coupon, in this order, whether it is usable, or why not.
func (b *basket) judge(order []int) {
	groups := numbers{}
	for _, i := range order {
		groups.of(b.cart.Coupons[i].Group)
	}
	places := placesOf(b.lines, b.parcels)
	all, sets := make([]usable, len(order)), newBitsets(len(order), len(b.lines), len(groups))
	b.usable = make([]*usable, 0, len(order))
	for n, i := range order {
		u := &all[n]
		*u = usable{Coupon: &b.cart.Coupons[i], scope: sets.next(len(b.lines)), id: n}
		if reason := b.judgeOne(u, places); reason != "" {
			b.rejected = append(b.rejected, Rejection{u.ID, reason})
			continue
		}
		u.group, u.partners = groups.of(u.Group), sets.next(len(groups))
		groups.addAll(u.StackWith, u.partners)
		b.usable = append(b.usable, u)
	}
}

// judgeOne gives the first reason that holds. A threshold looks at the cart's own
// amounts, never at what other coupons leave of them.
func (b *basket) judgeOne(u *usable, places *places) Reason {
	switch {
	case u.Currency != b.cart.Currency:
		return ReasonCurrency
	case !u.Started(b.cart.At):
		return ReasonNotStarted
	case u.Ended(b.cart.At):
		return ReasonExpired
	}
	places.linesIn(&u.Scope, u.scope)
	u.amount = u.scope.sumOf(b.amounts)
	switch {
	case u.amount == 0:
		return ReasonOutOfScope
	case u.amount < u.MinAmountCents:
		return ReasonBelowMinimum
	}
	b.eligible++
	if u.Kind == coupon.KindFreeShipping {
		u.scope = newBitset(len(b.parcels))
		places.parcelsIn(&u.Scope, u.scope)
		u.amount = u.scope.sumOf(b.fees)
	}
	u.alone = u.off(u.amount)
	if u.alone == 0 { // and so in company, where there is never more to take from
		return ReasonNoEffect
	}
	return ""
}

// off is what the coupon takes off x, the running amount of its scope. It never
// shrinks as x grows.
func (c *Coupon) off(x int64) int64 {
	switch c.Kind {
	case coupon.KindPercent:
		return c.capped(x - percentOf(x, c.Value))
	case coupon.KindAmount:
		return min(c.Value, x)
	default: // free shipping
		return c.capped(x)
	}
}

func (c *Coupon) capped(discount int64) int64 {
	if c.CapMinor > 0 {
		return min(discount, c.CapMinor)
	}
	return discount
}

// combines says whether two coupons go together: each names the other's group, which
// is not its own.
func combines(u, v *usable) bool {
	return u.group != v.group && u.partners.has(v.group) && v.partners.has(u.group)
}
