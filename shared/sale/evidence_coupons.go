package sale

// CouponEvidence is what Postgres says about the coupons that a sale gives out, as of one
// moment: counts, and the rows that break a rule, of which only some are named.
type CouponEvidence struct {
	TemplateID string // "" of a sale of goods: then there is nothing else
	Total      int64  // coupons that the template has
	Issued     int64  // coupons that it counts as given out
	Units      int64  // of the sale
	Holding    int64  // orders of the sale that hold a unit
	Instances  int64  // coupons of the template

	Redeemed    int64 // coupons in that state
	Redemptions int64 // events of these coupons: redemptions, late ones too
	Returns     int64 // and returns

	Faults []CouponFault
}

// CouponFault is how many rows break a rule, and what is wrong with some of them.
type CouponFault struct {
	Rule  CouponRule
	Count int64
	Named []string // at most MaxNamed
}

// CouponRule is what rows must keep.
type CouponRule string

// Rules of coupons.
const (
	CouponTraces    CouponRule = "traces"     // a coupon is of an order that holds a unit
	CouponIsThere   CouponRule = "is_there"   // an order that holds a unit has its coupon
	CouponSameOwner CouponRule = "same_owner" // both are of one user, slot and sale
	CouponState     CouponRule = "state"      // it is as the last event has left it
	CouponUse       CouponRule = "use"        // redeemed once and returned once in a cycle
	CouponLapses    CouponRule = "lapses"     // no lock outlives its deadline by long
	CheckoutAnswers CouponRule = "answers"    // orders were told what has happened
	CheckoutQuote   CouponRule = "quote"      // a quote's discounts are the sum of its shares
	CheckoutGiven   CouponRule = "given"      // the ledger gives what redeemed orders were told
	LedgerShares    CouponRule = "shares"     // by line, party and coupon, as the quote has it
	LedgerReversed  CouponRule = "reversed"   // no more than was given, and all of it on a full refund
	LedgerRefunds   CouponRule = "refunds"    // as much as each refund was told
)

// CouponRules are all rules.
func CouponRules() []CouponRule {
	return []CouponRule{CouponTraces, CouponIsThere, CouponSameOwner, CouponState, CouponUse, CouponLapses,
		CheckoutAnswers, CheckoutQuote, CheckoutGiven, LedgerShares, LedgerReversed, LedgerRefunds}
}

// Broken is how many rows break one of these rules.
func (e CouponEvidence) Broken(rules ...CouponRule) (n int64) {
	for _, f := range e.Faults {
		for _, rule := range rules {
			if f.Rule == rule {
				n += f.Count
			}
		}
	}
	return n
}
