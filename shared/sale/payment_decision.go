package sale

// PaymentFacts are what a payment event is decided by, as of one moment.
type PaymentFacts struct {
	Order    *Order // that the event acts on: the one it names or, of an expired one, what took its place; nil when there is none
	Rejected bool   // there is no order and never will be: its reservation was rejected without one
	Claim    bool   // the order is of a coupon: nothing is to be paid for it, ever

	Retired, Rebuilding bool       // of the order's sale
	Released            bool       // Redis has applied the order's release
	Refused             OwedReason // why Redis has no unit for the order, once it was asked; else ""

	RefundOwed     bool // of a refund: this amount is owed for the order
	SuccessWaiting bool // of a refund: a payment of the order is not applied yet
	SuccessApplied bool // of a refund: a payment of the order is, to whatever effect
}

// PaymentDecision is what is to be done about a payment event.
type PaymentDecision struct {
	Result PaymentResult // PaymentWaits: nothing, for now
	Reason OwedReason    // with PaymentOwed only

	NeedsUnit    bool // it waits for a unit to be reserved for LateAttempt
	NeedsRelease bool // it waits for its expired order's release
}

// Decide says what an event does. The order it acts on must not change before it is
// done.
func (e PaymentEvent) Decide(f PaymentFacts) PaymentDecision {
	switch e.Type {
	case PaymentSucceeded:
		return e.decideSuccess(f)
	case RefundSucceeded:
		return PaymentDecision{Result: e.decideRefund(f)}
	case PaymentFailed:
	}
	return PaymentDecision{Result: PaymentNoted}
}

func (e PaymentEvent) decideSuccess(f PaymentFacts) PaymentDecision {
	owed := func(reason OwedReason) PaymentDecision { return PaymentDecision{Result: PaymentOwed, Reason: reason} }
	switch {
	case f.Order == nil && f.Rejected:
		return owed(OwedRejected)
	case f.Order == nil:
		return PaymentDecision{}
	case f.Claim && f.Order.State == OrderPaid:
		return owed(OwedSecond)
	case !e.pays(f.Order):
		return PaymentDecision{Result: PaymentWrongAmount}
	}
	switch f.Order.State {
	case OrderPending:
		return PaymentDecision{Result: PaymentPaid}
	case OrderPaid:
		return owed(OwedSecond)
	case OrderCancelled:
		return owed(OwedCancelled)
	case OrderRefunded:
		return owed(OwedRefunded)
	case OrderExpired:
		return decideLate(f)
	case OrderRejected:
	}
	return owed(OwedRejected)
}

// decideLate is for a payment that comes after its order's expiry. The unit and
// the slot must be back in Redis before it can ask for them again.
func decideLate(f PaymentFacts) PaymentDecision {
	switch {
	case f.Retired:
		return PaymentDecision{Result: PaymentOwed, Reason: OwedRetired}
	case f.Refused != "":
		return PaymentDecision{Result: PaymentOwed, Reason: f.Refused}
	case f.Rebuilding:
		return PaymentDecision{}
	case !f.Released:
		return PaymentDecision{NeedsRelease: true}
	}
	return PaymentDecision{NeedsUnit: true}
}

// decideRefund lets a refund wait while a payment may still come before it: the
// provider's events arrive in any order. Nobody refunds what was not paid, so one of a
// closed order whose payment is not known has overtaken it. Taken for nothing now, it
// would be missing once the payment comes: a late one would have an order for nothing,
// any other would be refunded twice.
func (e PaymentEvent) decideRefund(f PaymentFacts) PaymentResult {
	switch {
	case f.RefundOwed:
		return PaymentSettled
	case f.SuccessWaiting, f.Claim && !f.SuccessApplied:
		return PaymentWaits
	case f.Claim: // the coupon is the buyer's, and no payment is given back twice
		return PaymentNotPaid
	case f.Order != nil && f.Order.State == OrderPaid && !e.pays(f.Order):
		return PaymentWrongAmount
	case f.Order != nil && f.Order.State == OrderPaid:
		return PaymentRefunded
	case f.Order == nil && !f.Rejected || f.Order != nil && f.Order.State == OrderPending || !f.SuccessApplied:
		return PaymentWaits
	}
	return PaymentNotPaid
}

// pays reports whether the event is about the whole price, neither more nor less.
func (e PaymentEvent) pays(o *Order) bool {
	return e.AmountMinor == o.AmountMinor && e.Currency == o.Currency
}
