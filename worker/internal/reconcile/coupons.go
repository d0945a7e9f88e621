package reconcile

import (
	"context"
	"slices"

	"sluice/shared/sale"
)

// coupons reads what Postgres says of the coupons of a sale, nothing of one of goods. That
// it cannot is a finding of its own: stock is reconciled without.
func (r *Reconciler) coupons(ctx context.Context, e sale.Entry) (sale.CouponEvidence, error) {
	if e.Template == "" {
		return sale.CouponEvidence{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, couponsIn)
	defer cancel()
	return r.rows.CouponHoldings(ctx, e.ID)
}

// judgeCoupons says what is wrong with the coupons of a sale. Postgres was read as of one
// moment, and every change of it is whole: there is nothing to wait for but the job that
// lapses locks.
func (j *judgement) judgeCoupons(c sale.CouponEvidence) {
	if j.unread != nil {
		j.lasting(CouponsUnread, 1, "", 1, "nobody knows about coupons: %v", j.unread)
		return
	}
	rows := []sale.CouponRule{sale.CouponTraces, sale.CouponIsThere, sale.CouponSameOwner, sale.CouponState, sale.CouponUse, sale.CheckoutAnswers}
	ledger := []sale.CouponRule{sale.CheckoutQuote, sale.CheckoutGiven, sale.LedgerShares, sale.LedgerReversed, sale.LedgerRefunds}
	counts := max(distance(c.Issued, c.Instances), distance(c.Issued, c.Holding), distance(c.Redeemed, c.Redemptions-c.Returns))
	j.certain(CouponRows, max(counts, c.Broken(rows...)),
		"template %s counts %d coupons as issued, there are %d and %d orders with a unit; %d are redeemed after %d redemptions and %d returns%s",
		c.TemplateID, c.Issued, c.Instances, c.Holding, c.Redeemed, c.Redemptions, c.Returns, example(c, rows))
	j.lasting(CouponLock, c.Broken(sale.CouponLapses), "", 1, "%d locks of coupons are past their deadline%s",
		c.Broken(sale.CouponLapses), example(c, []sale.CouponRule{sale.CouponLapses}))
	j.certain(CouponLedger, c.Broken(ledger...), "the ledger of coupons of template %s is wrong %d times%s",
		c.TemplateID, c.Broken(ledger...), example(c, ledger))
}

// example is one of the rows that break these rules.
func example(c sale.CouponEvidence, rules []sale.CouponRule) string {
	for _, f := range c.Faults {
		if slices.Contains(rules, f.Rule) && len(f.Named) > 0 {
			return "; " + f.Named[0]
		}
	}
	return ""
}
