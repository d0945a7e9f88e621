package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"sluice/shared/checkout"
	"sluice/shared/coupon"
	"sluice/shared/pgstore"
	"sluice/shared/pricing"
	"sluice/shared/sale"
)

// newCouponWorld is a world whose sale gives out total coupons, each 10.00 off, that come
// back on a full refund.
func newCouponWorld(t testing.TB, total int64) *world {
	t.Helper()
	w := newWorld(t, 0)
	rule := coupon.Rule{
		Template: coupon.Template{ID: "ten-off", Kind: coupon.KindAmount, Value: 1_000, Total: total},
		Terms: coupon.Terms{
			Scope: coupon.Scope{Merchants: []string{}, SKUs: []string{}, Categories: []string{}}, Layer: coupon.LayerPlatform, StackWith: []string{},
			Bearers:  []coupon.Bearer{{Party: "platform", BPS: 7_000}, {Party: "merchant", BPS: 3_000}},
			Currency: "CNY", ReturnOnFullRefund: true, IfGone: coupon.GoneHonour,
		},
	}
	s := w.entry.Sale
	s.ID, s.Kind, s.Template, s.SKU, s.PriceMinor, s.Hold, s.Total = s.ID+"-coupons", sale.KindCoupon, rule.ID, rule.ID, 0, 0, total
	w.loadSale(w.context(), pgstore.Catalogue{Templates: []coupon.Rule{rule}, Sales: []pgstore.SaleConfig{{Sale: s}}})
	return w
}

// use redeems a coupon with an order of 30.00.
func (w *world) use(ctx context.Context, r sale.Reservation, orderID string) checkout.Order {
	w.t.Helper()
	o := checkout.Order{UserID: r.UserID, OrderID: orderID}
	cart := pricing.Cart{Currency: "CNY", Lines: []pricing.Line{{ID: "1", Merchant: "m1", SKU: "cup", Category: "home", Quantity: 3, UnitPriceMinor: 1_000}}}
	_, err := w.store.LockCoupons(ctx, checkout.Lock{Order: o, CouponIDs: []string{r.RID}, Cart: cart, Hold: time.Minute})
	w.must(err)
	_, err = w.store.RedeemCoupons(ctx, o)
	w.must(err)
	return o
}

func TestAudit_FindsWhatIsWrongWithCoupons(t *testing.T) {
	t.Parallel()
	w := newCouponWorld(t, 10)
	p, ops := w.startWithAdmin("")
	reserved := w.reserve(3)
	w.handOver(reserved)
	w.eventuallyAll(sale.StatusPaid, reserved)
	w.use(w.context(), reserved[0], "o-1")
	returned := w.use(w.context(), reserved[1], "o-1")
	_, err := w.store.RefundCoupons(w.context(), checkout.Refund{Order: returned, RefundID: "r-1", Lines: []checkout.RefundLine{{ID: "1", Quantity: 3}}})
	w.must(err)

	audit := "/admin/v1/sales/" + w.entry.ID + "/audit?wait=10"
	const counts = `"coupons":{"template":"ten-off","total":10,"issued":3,"instances":3,"redeemed":1,"redemptions":2,"returns":1}`
	clean := w.operate(ops, "GET", audit, "")
	w.wantAnswer(clean, 200, `{"verdict":{"pass":true,"violations":[]},"at_rest":true,`)
	w.wantAnswer(clean, 200, counts)
	if reconciled := w.operate(ops, "POST", "/admin/v1/reconciliations", "{}"); reconciled.status != 200 || strings.Contains(reconciled.body, `"kind":"coupon_`) {
		t.Errorf("of nothing wrong: %s", reconciled.body)
	}

	for _, plant := range []struct{ do, undo, violation, kind string }{
		{`UPDATE coupons SET state = 'void' WHERE id = $1::text::uuid`, `UPDATE coupons SET state = 'issued' WHERE id = $1::text::uuid`,
			`"invariant":"I7","detail":"coupon ` + reserved[2].RID, "coupon_rows"},
		{`UPDATE coupon_ledger SET amount = amount + 1 WHERE order_id <> $1 AND event = 'redeem' AND party = 'merchant'`,
			`UPDATE coupon_ledger SET amount = amount - 1 WHERE order_id <> $1 AND event = 'redeem' AND party = 'merchant'`,
			`"invariant":"I5","detail":"order o-1 of user ` + reserved[1].UserID, "coupon_ledger"},
		{`UPDATE coupon_templates SET issued = issued + 1 WHERE $1 <> ''`, `UPDATE coupon_templates SET issued = issued - 1 WHERE $1 <> ''`,
			`"invariant":"I4","detail":"template ten-off counts 4 coupons as issued, there are 3, and 3 orders hold a unit"`, "coupon_rows"},
	} {
		execSQL(t, w.postgresURL, plant.do, reserved[2].RID)
		w.wantAnswer(w.operate(ops, "GET", audit, ""), 200, plant.violation)
		w.wantAnswer(w.operate(ops, "POST", "/admin/v1/reconciliations", "{}"), 200, `{"kind":"`+plant.kind+`","amount":`)
		execSQL(t, w.postgresURL, plant.undo, reserved[2].RID)
	}
	w.wantAnswer(w.operate(ops, "GET", audit, ""), 200, `"pass":true`)
	w.stopped(p)
}
