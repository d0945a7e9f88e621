package sale

import (
	"fmt"
	"strings"
	"testing"
)

// claimed is the evidence of a sale of three coupons at rest, of which two are claimed,
// one of these redeemed for the second time.
func claimed() Evidence {
	row := func(rid, user string, rank int64, state OrderState) Order {
		return Order{
			Reservation: Reservation{RID: rid, UserID: user, Slot: 1, Rank: rank}, State: state, ShownState: state,
			HoldsUnit: state.HoldsUnit(), HoldsSlot: state.HoldsUnit(),
		}
	}
	e := Evidence{
		SaleID: "s", PerUserLimit: 1, Configured: 3, Total: 3, Held: 2, Still: true,
		Orders:     []Order{row("r1", "ann", 1, OrderPaid), row("r2", "bob", 2, OrderPaid), row("r3", "ann", 3, OrderRejected)},
		Releases:   []Release{{RID: "r3", Status: StatusRejected, Reason: ReasonDuplicate, Holder: "r1"}},
		HandedOver: []string{"r1", "r2", "r3"},
		Redis:      RedisEvidence{Loaded: 4, Stock: 1, Accepted: 3, Rank: 3, Served: 3, Buyers: []string{"ann#1", "bob#1"}},
		Coupons:    CouponEvidence{TemplateID: "t", Total: 3, Issued: 2, Units: 3, Holding: 2, Instances: 2, Redeemed: 1, Redemptions: 2, Returns: 1},
	}
	e.Orders[2].Reason = ReasonDuplicate
	e.giveTickets()
	return e
}

func TestAudit_CleanCouponsPass(t *testing.T) {
	t.Parallel()
	if v := Audit(claimed()); !v.Pass || !v.AtRest {
		t.Fatalf("%+v", v)
	}
}

func TestAudit_CouponsAreHeldAgainstTheInvariants(t *testing.T) {
	t.Parallel()
	fault := func(rule CouponRule) func(*Evidence) {
		return func(e *Evidence) {
			e.Coupons.Faults = append(e.Coupons.Faults, CouponFault{Rule: rule, Count: 1, Named: []string{"this one"}})
		}
	}
	for name, c := range map[string]struct {
		plant func(*Evidence)
		want  string
	}{
		"more issued than there are":  {func(e *Evidence) { e.Coupons.Total = 1; e.Coupons.Units = 1 }, "I1 template t has 1 coupons: 2 are issued"},
		"more units than coupons":     {func(e *Evidence) { e.Coupons.Units = 4 }, "I1 template t has 3 coupons: 2 are issued, its sale has 4 units"},
		"a count that is wrong":       {func(e *Evidence) { e.Coupons.Issued = 1 }, "I4 template t counts 1 coupons as issued, there are 2, and 2 orders hold a unit"},
		"an instance too many":        {func(e *Evidence) { e.Coupons.Instances = 3 }, "I4 template t counts 2 coupons as issued, there are 3"},
		"an order too many":           {func(e *Evidence) { e.Coupons.Holding = 3 }, "I4 template t counts 2 coupons as issued, there are 2, and 3 orders"},
		"a redemption not undone":     {func(e *Evidence) { e.Coupons.Redemptions = 3 }, "I5 1 coupons of template t are redeemed, after 3 redemptions and 1 returns"},
		"a coupon that is to be paid": {func(e *Evidence) { e.Orders[0].AmountMinor = 5 }, "I3 order r1 of a coupon is paid with an amount of 5"},
		"a coupon not paid": {func(e *Evidence) {
			e.Orders[0].State, e.Orders[0].ShownState, e.Redis.Tickets[0].Status = OrderPending, OrderPending, StatusConfirmed
		}, "I3 order r1 of a coupon is pending"},
		"traces": {fault(CouponTraces), "I6 this one"}, "is there": {fault(CouponIsThere), "I3 this one"}, "same owner": {fault(CouponSameOwner), "I2 this one"},
		"state": {fault(CouponState), "I7 this one"}, "use": {fault(CouponUse), "I5 this one"}, "lapses": {fault(CouponLapses), "I9 this one"},
		"answers": {fault(CheckoutAnswers), "I3 this one"}, "quote": {fault(CheckoutQuote), "I4 this one"}, "given": {fault(CheckoutGiven), "I4 this one"},
		"shares": {fault(LedgerShares), "I4 this one"}, "reversed": {fault(LedgerReversed), "I5 this one"}, "refunds": {fault(LedgerRefunds), "I4 this one"},
	} {
		e := claimed()
		c.plant(&e)
		v := Audit(e)
		found := false
		for _, violation := range v.Violations {
			found = found || strings.HasPrefix(violation.Invariant+" "+violation.Detail, c.want)
		}
		if v.Pass || !found {
			t.Errorf("%s: want %q, got %+v", name, c.want, v.Violations)
		}
	}
}

func TestAudit_EveryCouponRuleHasItsInvariant(t *testing.T) {
	t.Parallel()
	for _, rule := range CouponRules() {
		e := claimed()
		e.Coupons.Faults = []CouponFault{{Rule: rule, Count: 7, Named: []string{"a", "b"}}}
		v := Audit(e)
		if len(v.Violations) != 3 || v.Violations[0].Detail != "a" || v.Violations[1].Detail != "b" || v.Violations[2].Detail != "and 5 more like these" {
			t.Errorf("%s: %+v", rule, v.Violations)
		}
	}
}

func TestAudit_NamedCouponsAreCutLikeOthers(t *testing.T) {
	t.Parallel()
	e := claimed()
	for i := range MaxNamed {
		e.Coupons.Faults = append(e.Coupons.Faults, CouponFault{Rule: LedgerShares, Count: 3, Named: []string{fmt.Sprint(i), "b"}})
	}
	v := Audit(e)
	if len(v.Violations) != MaxNamed+1 || v.Violations[MaxNamed].Detail != "and 40 more like these" {
		t.Errorf("%+v", v.Violations)
	}
}

// A lock is let go of by a job: an audit that may wait gives it the time.
func TestAudit_AnOverdueLockIsUnderWay(t *testing.T) {
	t.Parallel()
	e := claimed()
	e.Coupons.Faults = []CouponFault{{Rule: CouponLapses, Count: 1, Named: []string{"locked"}}}
	if v := Audit(e); v.AtRest || v.Pass {
		t.Errorf("%+v", v)
	}
}

// Goods are held against their payments, coupons have none.
func TestAudit_OnlyGoodsArePaidFor(t *testing.T) {
	t.Parallel()
	e := sold()
	e.PriceMinor = 5
	for i := range e.Orders {
		e.Orders[i].AmountMinor = 5
	}
	if v := Audit(e); v.Pass {
		t.Error("a paid order of goods without a payment passes")
	}
	if v := Audit(claimed()); !v.Pass {
		t.Errorf("%+v", v)
	}
}
