package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/shared/checkout"
	"sluice/shared/coupon"
	"sluice/shared/pricing"
	"sluice/shared/sale"
	"sluice/worker/internal/merchants"
)

const couponID = "0193a1b2-0000-7000-8000-00000000000a"

// anyKey is every key that names its scope: sk_acme_SCOPE.
type anyKey struct{}

func (anyKey) Admit(_ context.Context, shown string) (sale.MerchantKey, error) {
	merchant, scope, ok := strings.Cut(strings.TrimPrefix(shown, "sk_"), "_")
	if !ok {
		return sale.MerchantKey{}, merchants.ErrUnknown
	}
	return sale.MerchantKey{Merchant: merchant, Scopes: []sale.Scope{sale.Scope(scope)}}, nil
}

// shop is what the store answers, and what it was asked.
type shop struct {
	held  []coupon.Instance
	err   error
	asked any
	of    string    // user whose coupons were read
	at    time.Time // and for when
}

func (s *shop) CouponsOf(ctx context.Context, userID string, _ int) ([]coupon.Instance, error) {
	s.of = userID
	return s.held, s.bounded(ctx)
}

func (s *shop) UsableCoupons(ctx context.Context, userID string, at time.Time) ([]coupon.Instance, time.Time, error) {
	s.of, s.at = userID, at
	return s.held, now.Add(time.Hour), s.bounded(ctx)
}

func (s *shop) LockCoupons(ctx context.Context, l checkout.Lock) (checkout.Locked, error) {
	s.asked = l
	cart := l.Cart
	cart.At = now
	quote, _ := pricing.Exactly(cart)
	return checkout.Locked{OrderID: l.OrderID, Quote: quote, LockedUntil: now.Add(l.Hold).Local()}, s.bounded(ctx)
}

func (s *shop) RedeemCoupons(ctx context.Context, o checkout.Order) (checkout.Redeemed, error) {
	s.asked = o
	return checkout.Redeemed{OrderID: o.OrderID, Result: checkout.ResultRedeemed, Currency: "CNY", At: now.Local(),
		Redeemed: []checkout.RedeemedCoupon{}, Missing: []checkout.MissingCoupon{}}, s.bounded(ctx)
}

func (s *shop) ReleaseCoupons(ctx context.Context, o checkout.Order) (checkout.Released, error) {
	s.asked = o
	return checkout.Released{OrderID: o.OrderID, Released: []string{}}, s.bounded(ctx)
}

func (s *shop) RefundCoupons(ctx context.Context, r checkout.Refund) (checkout.Refunded, error) {
	s.asked = r
	return checkout.Refunded{OrderID: r.OrderID, RefundID: r.RefundID, Currency: "CNY", Lines: []checkout.RefundedLine{}, Shipping: []checkout.RefundedParcel{},
		Bearers: []pricing.BearerShare{}, Returned: []string{}}, s.bounded(ctx)
}

func (s *shop) bounded(ctx context.Context) error {
	if _, ok := ctx.Deadline(); !ok {
		return errors.New("asked without a deadline")
	}
	return s.err
}

func serveShop(t testing.TB, s *shop) string {
	t.Helper()
	return serveBacking(t, Backing{Merchants: anyKey{}, Coupons: s, Checkout: s})
}

func annsCoupon() coupon.Instance {
	return coupon.Instance{
		ID: couponID, TemplateID: "newcomer", UserID: "ann", Slot: 1, Cycle: 1, State: coupon.StateLocked, OrderID: "A-1",
		LockedUntil: now.Add(time.Minute).Local(), IssuedAt: now.Local(), ChangedAt: now.Local(),
		Snapshot: coupon.Snapshot{Kind: coupon.KindAmount, Value: 2000, MinAmountCents: 10000, Terms: coupon.Terms{
			Scope: coupon.Scope{Merchants: []string{}, SKUs: []string{}, Categories: []string{}}, Layer: coupon.LayerPlatform,
			StackWith: []string{}, Bearers: []coupon.Bearer{{Party: "platform", BPS: 10000}}, Currency: "CNY",
			EndsAt: now.Add(time.Hour).Local(), IfGone: coupon.GoneHonour,
		}},
	}
}

func TestCoupons_AreListedWithTheirTerms(t *testing.T) {
	t.Parallel()
	s := &shop{held: []coupon.Instance{annsCoupon()}}
	url := serveShop(t, s)
	want := map[string]any{
		"id": couponID, "template": "newcomer", "state": "locked", "kind": "amount", "value": 2000.0, "min_amount": 10000.0, "cap": 0.0,
		"scope": map[string]any{"merchants": []any{}, "skus": []any{}, "categories": []any{}}, "layer": "platform", "group": "", "stack_with": []any{},
		"bearers": []any{map[string]any{"party": "platform", "bps": 10000.0}}, "currency": "CNY", "ends_at": "2026-12-01T11:00:00Z",
		"return_on_full_refund": false, "if_gone_after_payment": "honour", "order_id": "A-1", "locked_until": "2026-12-01T10:01:00Z",
		"issued_at": "2026-12-01T10:00:00Z", "changed_at": "2026-12-01T10:00:00Z",
	}
	a := do(t, "GET", url+"/v1/coupons", "Bearer "+tokenOf(t, "ann", now))
	if diff := cmp.Diff(map[string]any{"coupons": []any{want}}, a.body); diff != "" || a.status != 200 || s.of != "ann" {
		t.Errorf("%d of %s (-want +got):\n%s", a.status, s.of, diff)
	}
	delete(want, "order_id") // another merchant's, for all that is known
	a = do(t, "GET", url+"/v1/coupons?user_id=%C3%A9%20a", "Bearer sk_acme_quotes")
	if diff := cmp.Diff(map[string]any{"coupons": []any{want}}, a.body); diff != "" || a.status != 200 || s.of != "é a" {
		t.Errorf("%d of %s (-want +got):\n%s", a.status, s.of, diff)
	}
}

func TestCoupons_WhoAsksAboutWhom(t *testing.T) {
	t.Parallel()
	s := &shop{}
	url := serveShop(t, s)
	ann := "Bearer " + tokenOf(t, "ann", now)
	for _, c := range []struct {
		query, authorization string
		status               int
		problem              string
	}{
		{"", ann, 200, ""},
		{"?user_id=ann", ann, 400, "invalid-request"},
		{"", "Bearer sk_acme_quotes", 400, "invalid-request"},
		{"?user_id=", "Bearer sk_acme_quotes", 400, "invalid-request"},
		{"?user_id=a%00", "Bearer sk_acme_quotes", 400, "invalid-request"},
		{"?user_id=%ff", "Bearer sk_acme_quotes", 400, "invalid-request"},
		{"?user_id=ann&user_id=bob", "Bearer sk_acme_quotes", 400, "invalid-request"},
		{"?user_id=ann", "Bearer sk_acme_coupons:lock", 403, "missing-scope"},
		{"?user_id=ann", "Bearer sk_acme", 401, "unauthenticated"},
		{"", "Bearer x", 401, "unauthenticated"},
		{"", "Basic sk_acme_quotes", 401, "unauthenticated"},
	} {
		a := do(t, "GET", url+"/v1/coupons"+c.query, c.authorization)
		if c.problem != "" {
			wantProblem(t, a, c.status, c.problem)
		}
		if a.status != c.status || c.status == 400 && a.body["field"] != "user_id" {
			t.Errorf("%s as %.20s: %d %v", c.query, c.authorization, a.status, a.body)
		}
	}
}

// callsOf are the calls of order systems, with a body that each takes.
func callsOf() map[string]string {
	return map[string]string{
		"lock":    `{"order_id":"A-1","coupon_ids":["` + couponID + `"],"cart":{"currency":"CNY","lines":[{"id":"l1","quantity":1,"unit_price":5}]}}`,
		"redeem":  `{"order_id":"A-1"}`,
		"release": `{"order_id":"A-1"}`,
		"refund":  `{"order_id":"A-1","refund_id":"R-1","shipping":true}`,
	}
}

func TestCheckout_AMerchantNeedsTheScopeAndNamesTheUser(t *testing.T) {
	t.Parallel()
	s := &shop{}
	url := serveShop(t, s)
	for call, body := range callsOf() {
		named := strings.Replace(body, "{", `{"user_id":"ann",`, 1)
		key, buyer := "Bearer sk_acme_coupons:"+call, "Bearer "+tokenOf(t, "ann", now)
		target := url + "/v1/coupons/" + call
		for as, c := range map[string]struct {
			body, authorization string
			status              int
		}{
			"the merchant":    {named, key, 200},
			"the buyer":       {body, buyer, 200},
			"of nobody":       {body, key, 400},
			"of somebody":     {named, buyer, 400},
			"of no user":      {strings.Replace(named, `"ann"`, `"a\u0000"`, 1), key, 400},
			"another scope":   {named, "Bearer sk_acme_quotes", 403},
			"another key":     {named, "Bearer sk_acme", 401},
			"another's token": {body, buyer + "x", 401},
		} {
			a := doWith(t, "POST", target, c.body, c.authorization)
			if a.status != c.status || c.status == 400 && a.body["field"] != "user_id" {
				t.Errorf("%s as %s: %d %v", call, as, a.status, a.body)
			}
		}
		wantProblem(t, do(t, "GET", target, key), 405, "method-not-allowed")
	}
}

func TestCheckout_IsAskedForWhatTheBodySays(t *testing.T) {
	t.Parallel()
	s := &shop{}
	url := serveShop(t, s)
	acme := checkout.Order{UserID: "ann", OrderID: "A 1", Merchant: "acme"}
	for call, c := range map[string]struct {
		body string
		want any
	}{
		"lock": {`{"user_id":"ann","order_id":"A 1","coupon_ids":["0193A1B2-0000-7000-8000-00000000000A","a"],"hold_seconds":86400,"cart":{"currency":"CNY","shipping":[{"merchant":"m","fee":9},{"fee":3}],
			"lines":[{"id":"l1","merchant":"m","sku":"s","category":"c","quantity":2,"unit_price":5}]}}`,
			checkout.Lock{Order: acme, CouponIDs: []string{couponID, "a"}, Hold: 24 * time.Hour, Cart: pricing.Cart{Currency: "CNY",
				Lines:    []pricing.Line{{ID: "l1", Merchant: "m", SKU: "s", Category: "c", Quantity: 2, UnitPriceMinor: 5}},
				Shipping: []pricing.Parcel{{Merchant: "m", FeeMinor: 9}, {FeeMinor: 3}}}}},
		"redeem":  {`{"user_id":"ann","order_id":"A 1"}`, acme},
		"release": {`{"user_id":"ann","order_id":"A 1"}`, acme},
		"refund": {`{"user_id":"ann","order_id":"A 1","refund_id":"R","lines":[{"id":"l1","quantity":2}],"shipping":true}`,
			checkout.Refund{Order: acme, RefundID: "R", Lines: []checkout.RefundLine{{ID: "l1", Quantity: 2}}, Shipping: true}},
	} {
		if a := doWith(t, "POST", url+"/v1/coupons/"+call, c.body, "Bearer sk_acme_coupons:"+call); a.status != 200 {
			t.Errorf("%s: %d %v", call, a.status, a.body)
		}
		if diff := cmp.Diff(c.want, s.asked); diff != "" {
			t.Errorf("%s (-want +got):\n%s", call, diff)
		}
	}
	a := doWith(t, "POST", url+"/v1/coupons/lock", callsOf()["lock"], "Bearer "+tokenOf(t, "ann", now))
	if asked := s.asked.(checkout.Lock); asked.Hold != 15*time.Minute || asked.Order != (checkout.Order{UserID: "ann", OrderID: "A-1"}) || a.body["locked_until"] != "2026-12-01T10:15:00Z" {
		t.Errorf("asked %+v, answered %v", asked, a.body)
	}
}

func TestCheckout_RefusalsAreProblems(t *testing.T) {
	t.Parallel()
	left := map[string]any{"line_id": "l1", "left": 2.0}
	of := map[string]any{"coupon_id": couponID}
	couponIs := func(why checkout.Why) error { return &checkout.CouponError{CouponID: couponID, Why: why} }
	for _, c := range []struct {
		call    string
		err     error
		status  int
		problem string
		members map[string]any
	}{
		{"lock", checkout.ErrOrderLocked, 409, "order-locked", nil},
		{"lock", couponIs(checkout.WhyUnknown), 404, "no-such-coupon", of},
		{"lock", couponIs(checkout.WhyLocked), 409, "coupon-locked", of},
		{"lock", couponIs(checkout.WhyRedeemed), 409, "coupon-redeemed", of},
		{"lock", couponIs(checkout.WhyExpired), 409, "coupon-expired", of},
		{"lock", couponIs(checkout.WhyVoid), 409, "coupon-void", of},
		{"lock", &checkout.NotApplicableError{Rejected: []pricing.Rejection{{ID: "k", Reason: pricing.ReasonNotCombinable}}}, 409, "coupon-not-applicable",
			map[string]any{"rejected": []any{map[string]any{"id": "k", "reason": "not_combinable"}}}},
		{"lock", &pricing.InvalidError{Field: "lines[1].id", Detail: "comes twice"}, 400, "invalid-request", map[string]any{"field": "cart.lines[1].id"}},
		{"redeem", checkout.ErrNoOrder, 404, "no-such-order", nil},
		{"release", checkout.ErrNoOrder, 404, "no-such-order", nil},
		{"release", checkout.ErrRedeemed, 409, "order-redeemed", nil},
		{"refund", checkout.ErrNoOrder, 404, "no-such-order", nil},
		{"refund", checkout.ErrNotRedeemed, 409, "not-redeemed", nil},
		{"refund", checkout.ErrOtherRefund, 409, "refund-conflict", nil},
		{"refund", &checkout.LineError{LineID: "l1", LeftUnits: 2}, 409, "nothing-to-refund", left},
		{"refund", &checkout.LineError{LineID: "l1"}, 409, "nothing-to-refund", map[string]any{"line_id": "l1", "left": 0.0}},
		{"refund", &checkout.LineError{}, 409, "nothing-to-refund", nil},
		{"lock", errors.New("password of db.internal"), 503, "unavailable", nil},
		{"redeem", errors.New("password of db.internal"), 503, "unavailable", nil},
		{"release", errors.New("password of db.internal"), 503, "unavailable", nil},
		{"refund", errors.New("password of db.internal"), 503, "unavailable", nil},
	} {
		url := serveShop(t, &shop{err: c.err})
		a := doWith(t, "POST", url+"/v1/coupons/"+c.call, callsOf()[c.call], "Bearer "+tokenOf(t, "ann", now))
		wantProblem(t, a, c.status, c.problem)
		detail, _ := a.body["detail"].(string)
		if strings.Contains(detail, "internal") || c.status == 503 && a.header.Get("Retry-After") == "" {
			t.Errorf("%s: %v %v", c.problem, a.header, a.body)
		}
		for _, member := range []string{"type", "title", "status", "detail"} {
			delete(a.body, member)
		}
		if diff := cmp.Diff(c.members, a.body); diff != "" && len(c.members)+len(a.body) > 0 {
			t.Errorf("%s of %s (-want +got):\n%s", c.problem, c.call, diff)
		}
	}
}

func TestCheckout_BrokenBodiesNameTheField(t *testing.T) {
	t.Parallel()
	s := &shop{}
	url := serveShop(t, s)
	lock, refund := callsOf()["lock"], callsOf()["refund"]
	long := strings.Repeat("é", 129)
	for _, c := range []struct{ call, from, to, field string }{
		{"lock", `"A-1"`, `""`, "order_id"}, {"lock", `"A-1"`, `"` + strings.Repeat("x", 65) + `"`, "order_id"}, {"lock", `"A-1"`, `"é"`, "order_id"},
		{"lock", `"order_id":"A-1",`, ``, "order_id"}, {"lock", `"order_id"`, `"Order_id"`, "Order_id"}, {"lock", `"A-1"`, `1`, "order_id"},
		{"lock", `["` + couponID + `"]`, `[]`, "coupon_ids"}, {"lock", `["` + couponID + `"]`, `["a","b","c","d","e"]`, "coupon_ids"},
		{"lock", `["` + couponID + `"]`, `null`, "coupon_ids"}, {"lock", `["` + couponID + `"]`, `["a","b","a"]`, "coupon_ids[2]"}, {"lock", `["` + couponID + `"]`, `["` + couponID + `","` + strings.ToUpper(couponID) + `"]`, "coupon_ids[1]"},
		{"lock", `["` + couponID + `"]`, `["a",""]`, "coupon_ids[1]"}, {"lock", `["` + couponID + `"]`, `["a",null]`, "coupon_ids[1]"},
		{"lock", `"cart":{`, `"hold_seconds":0,"cart":{`, "hold_seconds"}, {"lock", `"cart":{`, `"hold_seconds":86401,"cart":{`, "hold_seconds"},
		{"lock", `"cart":{`, `"hold_seconds":9.5,"cart":{`, "hold_seconds"}, {"lock", `"cart":{`, `"cart":{"at":"2026-12-01T10:00:00Z",`, "cart.at"},
		{"lock", `"cart":{`, `"cart":{"coupons":[],`, "cart.coupons"}, {"lock", `"l1"`, `""`, "cart.lines[0].id"}, {"lock", `"l1"`, `"` + long + `"`, "cart.lines[0].id"},
		{"lock", `"l1"`, `"l1","merchant":"a\u0007"`, "cart.lines[0].merchant"}, {"lock", `"l1"`, `"l1","sku":"` + long + `"`, "cart.lines[0].sku"},
		{"lock", `"l1"`, `"l1","category":"\u0085"`, "cart.lines[0].category"}, {"lock", `"quantity":1`, `"quantity":1.0`, "cart.lines[0].quantity"},
		{"lock", `"cart":{`, `"cart":{"shipping":[{"merchant":"` + long + `"}],`, "cart.shipping[0].merchant"},
		{"redeem", `}`, `,"refund_id":"R"}`, "refund_id"}, {"redeem", `}`, `}}`, "body"}, {"release", `"A-1"`, `"A\u0000"`, "order_id"},
		{"refund", `"R-1"`, `""`, "refund_id"}, {"refund", `"refund_id":"R-1",`, ``, "refund_id"}, {"refund", `,"shipping":true`, ``, "lines"},
		{"refund", `true`, `false,"lines":[]`, "lines"}, {"refund", `true`, `1`, "shipping"}, {"refund", `true`, `true,"lines":[{"id":"l1"}]`, "lines[0].quantity"},
		{"refund", `true`, `true,"lines":[{"id":"l1","quantity":1},{"id":"l1","quantity":1}]`, "lines[1].id"},
		{"refund", `true`, `true,"lines":[{"quantity":1}]`, "lines[0].id"}, {"refund", `true`, `true,"lines":[{"id":"l","quantity":1,"amount":3}]`, "lines[0].amount"},
	} {
		body := strings.Replace(callsOf()[c.call], c.from, c.to, 1)
		a := doWith(t, "POST", url+"/v1/coupons/"+c.call, body, "Bearer "+tokenOf(t, "ann", now))
		wantProblem(t, a, 400, "invalid-request")
		if a.body["field"] != c.field {
			t.Errorf("%s %.200s: field %v, want %s (%v)", c.call, body, a.body["field"], c.field, a.body["detail"])
		}
	}
	for call, length := range map[string]int{"lock": maxCart, "redeem": maxBody, "release": maxBody, "refund": maxCart} {
		a := doWith(t, "POST", url+"/v1/coupons/"+call, strings.Repeat(" ", length)+"{}", "Bearer "+tokenOf(t, "ann", now))
		wantProblem(t, a, 413, "too-large")
	}
	if s.asked != nil {
		t.Errorf("the store was asked: %+v", s.asked)
	}
	for call, body := range map[string]string{"lock": lock, "refund": refund} {
		padded := strings.Repeat(" ", maxCart-len(body)) + body
		if a := doWith(t, "POST", url+"/v1/coupons/"+call, padded, "Bearer "+tokenOf(t, "ann", now)); a.status != http.StatusOK {
			t.Errorf("%s of 2 MiB: %d %v", call, a.status, a.body)
		}
	}
}
