package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/shared/auth"
	sharedcheckout "sluice/shared/checkout"
	"sluice/shared/devstack"
	"sluice/shared/pricing"
	"sluice/shared/sale"
	"sluice/worker/internal/checkout"
)

// doomedCall is a call that its worker dies of.
type doomedCall struct {
	point     string
	committed bool     // before it died
	call      string   // and what is in its body beside the order
	members   string   // %[1]q is the coupon
	ready     []string // calls that the order has made before
	effect    string   // event of the coupon
}

func doomedCalls() []doomedCall {
	lock := `,"coupon_ids":[%[1]q],"cart":` + cart
	all := `,"refund_id":"R-1","lines":[{"id":"cups","quantity":3},{"id":"pan","quantity":1}],"shipping":true`
	calls := []doomedCall{
		{checkout.LockDecided, false, "lock", lock, nil, "lock"},
		{checkout.RedeemDecided, false, "redeem", "", []string{"lock"}, "redeem"},
		{checkout.ReleaseDecided, false, "release", "", []string{"lock"}, "release"},
		{checkout.RefundDecided, false, "refund", all, []string{"lock", "redeem"}, "return"},
	}
	for i, point := range []string{checkout.LockCommitted, checkout.RedeemCommitted, checkout.ReleaseCommitted, checkout.RefundCommitted} {
		c := calls[i]
		c.point, c.committed = point, true
		calls = append(calls, c)
	}
	return calls
}

// lockDirectly locks a coupon past every worker.
func (w *world) lockDirectly(user, order, coupon string) {
	w.t.Helper()
	_, err := w.store.LockCoupons(w.context(), sharedcheckout.Lock{
		Order: sharedcheckout.Order{UserID: user, OrderID: order}, CouponIDs: []string{coupon}, Hold: 15 * time.Minute,
		Cart: pricing.Cart{Currency: "CNY", Shipping: []pricing.Parcel{{Merchant: "m1", FeeMinor: 600}}, Lines: []pricing.Line{
			{ID: "cups", Merchant: "m1", SKU: "cup", Category: "home", Quantity: 3, UnitPriceMinor: 1_000},
			{ID: "pan", Merchant: "m2", SKU: "pan", Category: "home", Quantity: 1, UnitPriceMinor: 3_000},
		}},
	})
	w.must(err)
}

// happened are the events of a coupon, and what the parties bear of it.
func (w *world) happened(coupon string) (events []string, borneMinor int64) {
	w.t.Helper()
	events = queried[[]string](w, `SELECT coalesce(array_agg(event ORDER BY id), '{}') FROM coupon_events WHERE coupon_id = $1::text::uuid`, coupon)
	borneMinor = queried[int64](w, `SELECT coalesce(sum(amount), 0)::bigint FROM coupon_ledger WHERE coupon_id = $1::text::uuid`, coupon)
	return events, borneMinor
}

func (w *world) wantHappened(coupon string, events []string) {
	w.t.Helper()
	got, borne := w.happened(coupon)
	if strings.Join(got, " ") != strings.Join(events, " ") {
		w.t.Errorf("events are %v, want %v", got, events)
	}
	want := int64(0)
	if len(events) > 0 && events[len(events)-1] == "redeem" {
		want = 1_000
	}
	if borne != want {
		w.t.Errorf("the parties bear %d after %v, want %d", borne, events, want)
	}
}

// dies asks a call that is never answered, and waits for the end of the worker.
func (w *world) dies(p *process, c doomedCall, user, body string) {
	w.t.Helper()
	buyers, _ := w.urlsOf(p)
	token, err := auth.Mint([]byte(testKey), testIssuer, testAudience, user, sale.Claims{}, time.Now(), time.Minute)
	w.must(err)
	request, err := http.NewRequestWithContext(w.context(), http.MethodPost, buyers+"/v1/coupons/"+c.call, strings.NewReader(body))
	w.must(err)
	request.Header.Set("Authorization", "Bearer "+token)
	if response, err := http.DefaultTransport.RoundTrip(request); err == nil {
		_ = response.Body.Close()
		w.t.Errorf("%s was answered %d", c.call, response.StatusCode)
	}
	w.killed(p, c.point)
}

func (w *world) killed(p *process, point string) {
	w.t.Helper()
	select {
	case <-p.Exited():
	case <-w.context().Done():
		w.t.Fatalf("%s was not met", point)
	}
	if !strings.Contains(p.log.String(), "failpoint "+point+": killed") {
		w.t.Fatalf("the worker ended with %s, not at %s", p.Status(), point)
	}
}

// Each worker dies of a call; the next is asked the same twice, and dies of another.
func TestCheckout_WorkerKilledInACallHasOneEffectOnceItIsRepeated(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t, 1, serverURLs{redis: devstack.RedisForTest(t).URL(), postgres: schemaURL(t)})
	const user = "ann"
	repeat := func(*process) {}
	for n, c := range doomedCalls() {
		coupon, order := w.give(user, "honour"), fmt.Sprintf("o-%d", n)
		for _, call := range c.ready {
			if call == "lock" {
				w.lockDirectly(user, order, coupon)
				continue
			}
			_, err := w.store.RedeemCoupons(w.context(), sharedcheckout.Order{UserID: user, OrderID: order})
			w.must(err)
		}
		body := fmt.Sprintf(`{"order_id":%q`, order) + strings.ReplaceAll(c.members, "%[1]q", fmt.Sprintf("%q", coupon)) + "}"
		p := w.startWorker(c.point + "=kill")
		repeat(p)
		w.dies(p, c, user, body)
		done := append(append([]string{}, c.ready...), c.effect)
		if c.committed {
			w.wantHappened(coupon, done)
		} else {
			w.wantHappened(coupon, c.ready)
		}
		repeat = func(p *process) {
			buyers, _ := w.urlsOf(p)
			first := w.post(buyers, "/v1/coupons/"+c.call, user, body)
			w.wantAnswer(first, 200, order)
			w.wantAnswer(w.post(buyers, "/v1/coupons/"+c.call, user, body), 200, first.body)
			w.wantHappened(coupon, done)
		}
	}
	p := w.startWorker("")
	repeat(p)
	w.stopped(p)
}

func TestCheckout_WorkerKilledWhileLocksLapseLeavesTheRestToTheNext(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t, 1, serverURLs{redis: devstack.RedisForTest(t).URL(), postgres: schemaURL(t)})
	const user = "ann"
	overdue := func(order string) (coupon string) {
		coupon = w.give(user, "honour")
		w.lockDirectly(user, order, coupon)
		execSQL(t, w.postgresURL, `UPDATE coupons SET locked_until = now() - interval '1 second' WHERE id = $1::text::uuid`, coupon)
		return coupon
	}
	first := overdue("o-1")
	w.killed(w.startWorker(checkout.LapseDecided+"=kill"), checkout.LapseDecided)
	w.wantHappened(first, []string{"lock"})
	w.killed(w.startWorker(checkout.LapseCommitted+"=kill"), checkout.LapseCommitted)
	w.wantHappened(first, []string{"lock", "lapse"})

	p := w.startWorker("")
	second := overdue("o-2")
	ended := w.give(user, "honour")
	execSQL(t, w.postgresURL, `
		UPDATE coupons SET ends_at = now(), snapshot = snapshot || jsonb_build_object('ends_at', '2026-01-01T00:00:00Z') WHERE id = $1::text::uuid`, ended)
	w.eventually("the other lock lapses and the coupon that is over expires", func() bool {
		lapsed, _ := w.happened(second)
		expired, _ := w.happened(ended)
		return len(lapsed) == 2 && len(expired) == 1
	})
	w.wantHappened(first, []string{"lock", "lapse"})
	w.wantHappened(second, []string{"lock", "lapse"})
	w.wantHappened(ended, []string{"expire"})
	w.stopped(p)
}

// queried is the one value of a query.
func queried[T any](w *world, sql string, args ...any) (value T) {
	w.t.Helper()
	conn, err := pgx.Connect(w.context(), w.postgresURL)
	w.must(err)
	defer func() { _ = conn.Close(w.context()) }()
	w.must(conn.QueryRow(w.context(), sql, args...).Scan(&value))
	return value
}
