package sale

import "testing"

func TestPaymentEvent_Decide(t *testing.T) {
	t.Parallel()
	in := func(state OrderState) *Order { return &Order{State: state, AmountMinor: 100, Currency: "CNY"} }
	claim := &Order{State: OrderPaid, Currency: "CNY"}
	waits, owed := PaymentDecision{}, func(r OwedReason) PaymentDecision {
		return PaymentDecision{Result: PaymentOwed, Reason: r}
	}
	result := func(r PaymentResult) PaymentDecision { return PaymentDecision{Result: r} }
	for name, c := range map[string]struct {
		does  PaymentType
		minor int64
		facts PaymentFacts
		want  PaymentDecision
	}{
		"before its order":               {PaymentSucceeded, 100, PaymentFacts{}, waits},
		"of a rejection without a row":   {PaymentSucceeded, 100, PaymentFacts{Rejected: true}, owed(OwedRejected)},
		"pending":                        {PaymentSucceeded, 100, PaymentFacts{Order: in(OrderPending)}, result(PaymentPaid)},
		"pending while rebuilding":       {PaymentSucceeded, 100, PaymentFacts{Order: in(OrderPending), Rebuilding: true}, result(PaymentPaid)},
		"too little":                     {PaymentSucceeded, 99, PaymentFacts{Order: in(OrderPending)}, result(PaymentWrongAmount)},
		"too much, and late":             {PaymentSucceeded, 101, PaymentFacts{Order: in(OrderExpired)}, result(PaymentWrongAmount)},
		"paid twice":                     {PaymentSucceeded, 100, PaymentFacts{Order: in(OrderPaid)}, owed(OwedSecond)},
		"cancelled":                      {PaymentSucceeded, 100, PaymentFacts{Order: in(OrderCancelled)}, owed(OwedCancelled)},
		"rejected":                       {PaymentSucceeded, 100, PaymentFacts{Order: in(OrderRejected)}, owed(OwedRejected)},
		"refunded":                       {PaymentSucceeded, 100, PaymentFacts{Order: in(OrderRefunded)}, owed(OwedRefunded)},
		"late":                           {PaymentSucceeded, 100, PaymentFacts{Order: in(OrderExpired), Released: true}, PaymentDecision{NeedsUnit: true}},
		"late, its unit not back yet":    {PaymentSucceeded, 100, PaymentFacts{Order: in(OrderExpired)}, PaymentDecision{NeedsRelease: true}},
		"late while rebuilding":          {PaymentSucceeded, 100, PaymentFacts{Order: in(OrderExpired), Released: true, Rebuilding: true}, waits},
		"late, sold out":                 {PaymentSucceeded, 100, PaymentFacts{Order: in(OrderExpired), Released: true, Refused: OwedNoUnit}, owed(OwedNoUnit)},
		"late, retired":                  {PaymentSucceeded, 100, PaymentFacts{Order: in(OrderExpired), Retired: true}, owed(OwedRetired)},
		"failed":                         {PaymentFailed, 1, PaymentFacts{}, result(PaymentNoted)},
		"failed, paid":                   {PaymentFailed, 100, PaymentFacts{Order: in(OrderPaid)}, result(PaymentNoted)},
		"refund":                         {RefundSucceeded, 100, PaymentFacts{Order: in(OrderPaid)}, result(PaymentRefunded)},
		"refund of a part":               {RefundSucceeded, 50, PaymentFacts{Order: in(OrderPaid)}, result(PaymentWrongAmount)},
		"refund that is owed":            {RefundSucceeded, 100, PaymentFacts{Order: in(OrderPaid), RefundOwed: true}, result(PaymentSettled)},
		"refund before its payment":      {RefundSucceeded, 100, PaymentFacts{Order: in(OrderPending)}, waits},
		"refund before its order":        {RefundSucceeded, 100, PaymentFacts{}, waits},
		"refund, payment late":           {RefundSucceeded, 100, PaymentFacts{Order: in(OrderExpired), SuccessWaiting: true}, waits},
		"refund, payment to come, late":  {RefundSucceeded, 100, PaymentFacts{Order: in(OrderExpired)}, waits},
		"refund, payment to come":        {RefundSucceeded, 100, PaymentFacts{Order: in(OrderCancelled)}, waits},
		"refund, rejected":               {RefundSucceeded, 100, PaymentFacts{Rejected: true}, waits},
		"refund of what did not pay":     {RefundSucceeded, 100, PaymentFacts{Order: in(OrderExpired), SuccessApplied: true}, result(PaymentNotPaid)},
		"refund of what never was":       {RefundSucceeded, 100, PaymentFacts{Rejected: true, SuccessApplied: true}, result(PaymentNotPaid)},
		"for a claim":                    {PaymentSucceeded, 100, PaymentFacts{Order: claim, Claim: true}, owed(OwedSecond)},
		"for a claim, of nothing":        {PaymentSucceeded, 0, PaymentFacts{Order: claim, Claim: true}, owed(OwedSecond)},
		"for a rejected claim":           {PaymentSucceeded, 0, PaymentFacts{Order: &Order{State: OrderRejected, Currency: "CNY"}, Claim: true}, owed(OwedRejected)},
		"refund for a claim, of nothing": {RefundSucceeded, 0, PaymentFacts{Order: claim, Claim: true}, waits},
		"refund that a claim is owed":    {RefundSucceeded, 100, PaymentFacts{Order: claim, Claim: true, RefundOwed: true}, result(PaymentSettled)},
		"refund for a claim, once more":  {RefundSucceeded, 0, PaymentFacts{Order: claim, Claim: true, SuccessApplied: true}, result(PaymentNotPaid)},
		"refund of what was, once again": {RefundSucceeded, 100, PaymentFacts{Order: in(OrderRefunded), SuccessApplied: true}, result(PaymentNotPaid)},
	} {
		e := PaymentEvent{Type: c.does, AmountMinor: c.minor, Currency: "CNY"}
		if got := e.Decide(c.facts); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	if got := (PaymentEvent{Type: PaymentSucceeded, AmountMinor: 100, Currency: "EUR"}).Decide(PaymentFacts{Order: in(OrderPending)}); got.Result != PaymentWrongAmount {
		t.Errorf("another currency: %+v", got)
	}
}
