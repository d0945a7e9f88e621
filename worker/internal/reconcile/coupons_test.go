package reconcile

import (
	"strings"
	"testing"

	"sluice/shared/sale"
)

// withCoupons is a look at a sale of which four coupons are claimed and one is redeemed.
func withCoupons(faults ...sale.CouponFault) look {
	l := resting()
	l.coupons = sale.CouponEvidence{TemplateID: "t", Total: 10, Issued: 4, Units: 10, Holding: 4, Instances: 4, Redeemed: 1, Redemptions: 2, Returns: 1, Faults: faults}
	return l
}

func TestJudge_CouponsThatAddUpAreNoDeviation(t *testing.T) {
	t.Parallel()
	if got := judge(withCoupons(), sale.Reconciliation{}, stuck); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestJudge_EveryRuleOfCouponsIsOfOneKind(t *testing.T) {
	t.Parallel()
	for _, rule := range sale.CouponRules() {
		got := judge(withCoupons(sale.CouponFault{Rule: rule, Count: 3, Named: []string{"this one"}}), sale.Reconciliation{}, stuck)
		if len(got) != 1 || got[0].Amount != 3 || got[0].Counts != (got[0].Kind != CouponLock) || !strings.HasSuffix(got[0].Detail, "; this one") {
			t.Errorf("%s: %+v", rule, got)
		}
	}
}

func TestJudge_CountsOfCouponsThatDisagree(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(*sale.CouponEvidence){
		"issued":      func(c *sale.CouponEvidence) { c.Issued = 2 },
		"instances":   func(c *sale.CouponEvidence) { c.Instances = 6 },
		"orders":      func(c *sale.CouponEvidence) { c.Holding = 2 },
		"redeemed":    func(c *sale.CouponEvidence) { c.Redeemed = 3 },
		"redemptions": func(c *sale.CouponEvidence) { c.Redemptions = 4 },
		"returns":     func(c *sale.CouponEvidence) { c.Returns = 3 },
	} {
		l := withCoupons()
		plant(&l.coupons)
		if got := judge(l, sale.Reconciliation{}, stuck); len(got) != 1 || got[0].Kind != CouponRows || got[0].Amount != 2 || !got[0].Counts {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestJudge_ALockThatStaysCountsOnceItIsOld(t *testing.T) {
	t.Parallel()
	l := withCoupons(sale.CouponFault{Rule: sale.CouponLapses, Count: 1, Named: []string{"this one"}})
	last := sale.Reconciliation{Findings: judge(l, sale.Reconciliation{}, stuck)}
	l.at = l.at.Add(stuck)
	if got := judge(l, last, stuck); len(got) != 1 || got[0].Kind != CouponLock || !got[0].Counts {
		t.Errorf("%+v", got)
	}
}
