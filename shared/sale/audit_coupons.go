package sale

// couponsAddUp holds the coupons of a sale against the invariants: the template and its
// sale agree, each order that holds a unit has one coupon, coupons moved as the events
// say, and the ledger bears the discounts that orders were given.
func (a *audit) couponsAddUp() {
	c := a.Coupons
	if c.TemplateID == "" {
		return
	}
	if c.Issued > c.Total || c.Units > c.Total {
		a.violate("I1", "template %s has %d coupons: %d are issued, its sale has %d units", c.TemplateID, c.Total, c.Issued, c.Units)
	}
	if c.Issued != c.Instances || c.Issued != c.Holding {
		a.violate("I4", "template %s counts %d coupons as issued, there are %d, and %d orders hold a unit", c.TemplateID, c.Issued, c.Instances, c.Holding)
	}
	if c.Redeemed != c.Redemptions-c.Returns {
		a.violate("I5", "%d coupons of template %s are redeemed, after %d redemptions and %d returns", c.Redeemed, c.TemplateID, c.Redemptions, c.Returns)
	}
	for _, o := range a.Orders {
		if o.State != OrderRejected && (o.State != OrderPaid || o.AmountMinor != 0) {
			a.violate("I3", "order %s of a coupon is %s with an amount of %d", o.RID, o.State, o.AmountMinor)
		}
	}
	for _, f := range c.Faults {
		invariant := f.Rule.invariant()
		for _, detail := range f.Named {
			a.violate(invariant, "%s", detail)
		}
		a.unnamed[invariant] += int(f.Count) - len(f.Named)
	}
}

// invariant is the one that is broken with the rule.
func (r CouponRule) invariant() string {
	switch r {
	case CouponSameOwner:
		return "I2"
	case CouponIsThere, CheckoutAnswers:
		return "I3"
	case CouponUse, LedgerReversed:
		return "I5"
	case CouponTraces:
		return "I6"
	case CouponState:
		return "I7"
	case CouponLapses:
		return "I9"
	case CheckoutQuote, CheckoutGiven, LedgerShares, LedgerRefunds:
	}
	return "I4"
}
