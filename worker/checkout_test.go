package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"sluice/shared/devstack"
	"sluice/shared/sale"
)

// tenOff takes 10.00 off carts of at least 10.00, borne by two parties; %s more terms.
const tenOff = `{"kind":"amount","value":1000,"min_amount":1000,"cap":0,"scope":{"merchants":[],"skus":[],"categories":[]},"layer":"platform","group":"a",
	"stack_with":[],"bearers":[{"party":"platform","bps":7000},{"party":"merchant","bps":3000}],"currency":"CNY","return_on_full_refund":true,"if_gone_after_payment":"%s"}`

// give makes a coupon of a user's, as a claim would.
func (w *world) give(user, ifGone string) (id string) {
	w.t.Helper()
	id = uuid.Must(uuid.NewV7()).String()
	execSQL(w.t, w.postgresURL, `INSERT INTO coupons (id, template_id, sale_id, user_id, slot, snapshot, ends_at) VALUES ($1::text::uuid, 'ten-off', 'ten-off', $2, $3, $4::text::jsonb, 'infinity')`,
		id, user, testSales.Add(1), fmt.Sprintf(tenOff, ifGone))
	return id
}

// cart costs 60.00 and 6.00 for shipping.
const (
	cartLines = `"currency":"CNY","lines":[{"id":"cups","merchant":"m1","sku":"cup","category":"home","quantity":3,"unit_price":1000},
		{"id":"pan","merchant":"m2","sku":"pan","category":"home","quantity":1,"unit_price":3000}],"shipping":[{"merchant":"m1","fee":600}]`
	cart = "{" + cartLines + "}"
)

// shopper asks the calls of an order system for a user: as that buyer, or as a merchant.
type shopper struct {
	*world
	buyers, user, key string
}

func (s shopper) as(key string) shopper { s.key = key; return s }

// post asks a call with the members of a body, to which a merchant adds the user.
func (s shopper) post(target, members string) answer {
	s.t.Helper()
	if s.key == "" {
		return s.world.post(s.buyers, target, s.user, "{"+members+"}")
	}
	return s.world.post(s.buyers, target, "", fmt.Sprintf("{%q:%q,%s}", "user_id", s.user, members), "Authorization: Bearer "+s.key)
}

func (s shopper) list() answer {
	s.t.Helper()
	if s.key == "" {
		return s.ask(s.buyers, "GET", "/v1/coupons", s.user)
	}
	return s.ask(s.buyers, "GET", "/v1/coupons?user_id="+s.user, "", "Authorization: Bearer "+s.key)
}

func (s shopper) lock(order string, coupons ...string) answer {
	s.t.Helper()
	ids, err := json.Marshal(coupons)
	s.must(err)
	return s.post("/v1/coupons/lock", fmt.Sprintf(`"order_id":%q,"coupon_ids":%s,"cart":%s`, order, ids, cart))
}

func (s shopper) redeem(order string) answer  { return s.call("redeem", order) }
func (s shopper) release(order string) answer { return s.call("release", order) }

func (s shopper) call(call, order string) answer {
	s.t.Helper()
	return s.post("/v1/coupons/"+call, fmt.Sprintf(`"order_id":%q`, order))
}

func (s shopper) refund(order, id, more string) answer {
	s.t.Helper()
	return s.post("/v1/coupons/refund", fmt.Sprintf(`"order_id":%q,"refund_id":%q,%s`, order, id, more))
}

// wantTwice asks twice, and wants the same answer of 200 with all the parts.
func (s shopper) wantTwice(ask func() answer, parts ...string) {
	s.t.Helper()
	first := ask()
	for _, part := range parts {
		s.wantAnswer(first, 200, part)
	}
	if again := ask(); again.status != 200 || again.body != first.body {
		s.t.Errorf("repeated: %d %s, was %s", again.status, again.body, first.body)
	}
}

// wantLedger wants what a day has cost the two parties.
func (w *world) wantLedger(ops, platform, merchant string) {
	w.t.Helper()
	today := time.Now().UTC()
	got := w.operate(ops, "GET", fmt.Sprintf("/admin/v1/ledger?from=%s&to=%s", today.AddDate(0, 0, -1).Format(time.DateOnly), today.AddDate(0, 0, 1).Format(time.DateOnly)), "")
	w.wantAnswer(got, 200, `"party":"platform","currency":"CNY",`+platform)
	w.wantAnswer(got, 200, `"party":"merchant","currency":"CNY",`+merchant)
}

// startCheckout starts a worker in a world with a key of every scope.
func startCheckout(t *testing.T, urls serverURLs) (w *world, p *process, s shopper, ops string) {
	w = newWorldOn(t, 1, urls)
	p, ops = w.startWithAdmin("")
	buyers, _ := w.urlsOf(p)
	return w, p, shopper{world: w, buyers: buyers, user: "user-" + uuid.NewString()}, ops
}

func (s shopper) known(key string) shopper {
	s.t.Helper()
	s.eventually("the key is known", func() bool {
		return s.ask(s.buyers, "GET", "/v1/merchant", "", "Authorization: Bearer "+key).status == 200
	})
	return s.as(key)
}

func TestVoid_TakesBackACouponThatNoOrderHas(t *testing.T) {
	t.Parallel()
	w, p, ann, ops := startCheckout(t, serverURLs{redis: devstack.RedisForTest(t).URL(), postgres: schemaURL(t)})
	free, held := w.give(ann.user, "honour"), w.give(ann.user, "honour")
	void := func(id string) answer {
		return w.operate(ops, "POST", "/admin/v1/coupons/"+id+"/void", "", "Sluice-Operator: ada")
	}
	w.wantAnswer(ann.lock("A-1", held), 200, `"locked_until":`)

	w.wantAnswer(void(free), 200, `{"id":"`+free+`","template":"ten-off","user_id":"`+ann.user+`","state":"void",`)
	w.wantAnswer(void(free), 409, "The coupon is void, and stays so")
	w.wantAnswer(void(held), 409, "/problems/coupon-not-issued")
	for _, unknown := range []string{uuid.NewString(), "x"} {
		w.wantAnswer(void(unknown), 404, "/problems/no-such-coupon")
	}
	w.wantAnswer(ann.lock("A-2", free), 409, "/problems/coupon-void")
	w.wantAnswer(ann.redeem("A-1"), 200, `"result":"redeemed"`)
	w.wantAnswer(w.operate(ops, "GET", "/admin/v1/audit-log", ""), 200, `"operator":"ada","address":"127.0.0.1","action":"coupon-void","sale":"ten-off","subject":"`+free+`","before":{"state":"issued"},"after":{"state":"void"}`)
	w.stopped(p)
}

func TestCheckout_FromTheCouponToTheLastRefund(t *testing.T) {
	t.Parallel()
	w, p, ann, ops := startCheckout(t, serverURLs{redis: devstack.RedisForTest(t).URL(), postgres: schemaURL(t)})
	acme := ann.known(w.merchantKey("acme", sale.Scopes()...))
	acme.user = "user-" + uuid.NewString()
	for _, s := range []shopper{ann, acme} {
		k := w.give(s.user, "honour")
		order := "A-" + k[:13]
		w.wantAnswer(s.list(), 200, `{"coupons":[{"id":"`+k+`","template":"ten-off","state":"issued","kind":"amount","value":1000,`)
		w.wantAnswer(s.post("/v1/quotes", cartLines), 200, `"payable":5600,"discount":1000,"coupons":[{"id":"`+k+`","discount":1000}]`)
		w.wantAnswer(s.post("/v1/quotes", cartLines+`,"coupons":[]`), 200, `"payable":6600,"discount":0`)

		s.wantTwice(func() answer { return s.lock(order, k) }, `"payable":5600`, `"locked_until":"`)
		w.wantAnswer(s.post("/v1/coupons/lock", fmt.Sprintf(`"order_id":%q,"coupon_ids":[%q],"cart":{"currency":"CNY"}`, order, k)), 409, "/problems/order-locked")
		w.wantAnswer(s.lock("B-1", k), 409, `"coupon_id":"`+k+`"`)
		w.wantAnswer(s.list(), 200, `"state":"locked"`)
		w.wantAnswer(s.post("/v1/quotes", cartLines), 200, `"payable":6600`)

		s.wantTwice(func() answer { return s.release(order) }, fmt.Sprintf(`"released":[%q]`, k))
		w.wantAnswer(s.list(), 200, `"state":"issued"`)
		w.wantAnswer(s.refund(order, "R-0", `"shipping":true`), 409, "/problems/not-redeemed")
		s.wantTwice(func() answer { return s.lock(order, k) }, `"payable":5600`)
		s.wantTwice(func() answer { return s.redeem(order) }, `"result":"redeemed"`, fmt.Sprintf(`"redeemed":[{"coupon_id":%q,"discount":1000,"late":false}],"missing":[],"top_up":0`, k))
		s.wantTwice(func() answer { return s.lock(order, k) }, `"payable":5600`)
		w.wantAnswer(s.lock("B-1", k), 409, "/problems/coupon-redeemed")
		w.wantAnswer(s.release(order), 409, "/problems/order-redeemed")

		// 1000 off 6000: a cup costs 833 and a third, the pan 2500.
		s.wantTwice(func() answer { return s.refund(order, "R-1", `"lines":[{"id":"cups","quantity":1}]`) }, `"amount":833,`, `"full":false`, `"returned":[]`)
		w.wantAnswer(s.refund(order, "R-1", `"lines":[{"id":"cups","quantity":2}]`), 409, "/problems/refund-conflict")
		w.wantAnswer(s.refund(order, "R-2", `"lines":[{"id":"cups","quantity":3}]`), 409, `"line_id":"cups","left":2`)
		s.wantTwice(func() answer {
			return s.refund(order, "R-2", `"shipping":true,"lines":[{"id":"pan","quantity":1},{"id":"cups","quantity":2}]`)
		},
			`"amount":4767,`, `"full":true`, fmt.Sprintf(`"returned":[%q]`, k))
		w.wantAnswer(s.refund(order, "R-3", `"shipping":true`), 409, "/problems/nothing-to-refund")
		w.wantAnswer(s.list(), 200, `"state":"issued"`)
	}
	w.wantLedger(ops, `"given":1400,"honoured":0,"reversed":1400,"net":0`, `"given":600,"honoured":0,"reversed":600,"net":0`)
	w.stopped(p)
}

func TestCheckout_OnlyWhoLockedAnOrderIsAnsweredAboutIt(t *testing.T) {
	t.Parallel()
	w, p, ann, _ := startCheckout(t, serverURLs{redis: devstack.RedisForTest(t).URL(), postgres: schemaURL(t)})
	acme, other := ann.known(w.merchantKey("acme", sale.Scopes()...)), ann.known(w.merchantKey("other", sale.Scopes()...))
	k, l := w.give(ann.user, "honour"), w.give(ann.user, "honour")

	w.wantAnswer(acme.lock("A-1", k), 200, `"order_id":"A-1"`)
	w.wantAnswer(other.lock("A-1", k), 409, "/problems/order-locked")
	w.wantAnswer(other.redeem("A-1"), 404, "/problems/no-such-order")
	w.wantAnswer(other.release("A-1"), 404, "/problems/no-such-order")
	w.wantAnswer(ann.lock("A-1", l), 409, "/problems/order-locked") // nor is the buyer
	w.wantAnswer(ann.release("A-1"), 404, "/problems/no-such-order")
	w.wantAnswer(ann.redeem("A-1"), 404, "/problems/no-such-order")
	w.wantAnswer(acme.redeem("A-1"), 200, `"result":"redeemed"`)
	w.wantAnswer(ann.refund("A-1", "R-1", `"shipping":true`), 404, "/problems/no-such-order")
	w.wantAnswer(other.refund("A-1", "R-1", `"shipping":true`), 404, "/problems/no-such-order")
	if got := other.list(); got.status != 200 || strings.Contains(got.body, "A-1") || !strings.Contains(got.body, k) {
		t.Errorf("another merchant is told of the order: %d %s", got.status, got.body)
	}
	w.wantAnswer(ann.list(), 200, `"order_id":"A-1"`)

	w.wantAnswer(ann.lock("A-2", l), 200, `"order_id":"A-2"`)
	w.wantAnswer(other.redeem("A-2"), 200, `"result":"redeemed"`) // what the buyer locked, any shop may redeem
	bob := ann
	bob.user = "user-" + uuid.NewString()
	foreign := w.give(ann.user, "honour")
	for _, id := range []string{foreign, uuid.NewString(), strings.ToUpper(foreign), "nothing"} {
		w.wantAnswer(bob.lock("A-3", id), 404, `"type":"/problems/no-such-coupon"`)
	}
	w.wantAnswer(bob.redeem("A-2"), 404, "/problems/no-such-order")
	w.stopped(p)
}

func TestCheckout_CouponsThatCannotBeHad(t *testing.T) {
	t.Parallel()
	w, p, ann, _ := startCheckout(t, serverURLs{redis: devstack.RedisForTest(t).URL(), postgres: schemaURL(t)})
	one, two, three := w.give(ann.user, "refund"), w.give(ann.user, "honour"), w.give(ann.user, "honour")

	got := ann.lock("A-1", one, two)
	w.wantAnswer(got, 409, `"rejected":[{"id":"`)
	w.wantAnswer(got, 409, `"reason":"not_combinable"`)
	execSQL(t, w.postgresURL, `UPDATE coupons SET state = 'expired' WHERE id = $1::text::uuid`, two)
	execSQL(t, w.postgresURL, `UPDATE coupons SET state = 'void' WHERE id = $1::text::uuid`, three)
	w.wantAnswer(ann.lock("A-1", one, two), 409, `/problems/coupon-expired`)
	w.wantAnswer(ann.lock("A-1", one, three), 409, `/problems/coupon-void`)
	w.wantAnswer(ann.list(), 200, `"state":"void"`)

	// Its lock passes, another order takes it over and is redeemed first.
	w.wantAnswer(ann.lock("A-1", one), 200, `"payable":5600`)
	w.wantAnswer(ann.lock("A-2", one), 409, `/problems/coupon-locked`)
	execSQL(t, w.postgresURL, `UPDATE coupons SET locked_until = now() - interval '1 second' WHERE id = $1::text::uuid`, one)
	execSQL(t, w.postgresURL, `UPDATE checkouts SET locked_until = now() - interval '1 second' WHERE order_id = 'A-1'`)
	w.wantAnswer(ann.lock("A-2", one), 200, `"payable":5600`)
	w.wantAnswer(ann.redeem("A-2"), 200, `"result":"redeemed"`)
	ann.wantTwice(func() answer { return ann.redeem("A-1") }, `"result":"refund","redeemed":[]`, `"policy":"refund"`)
	w.stopped(p)
}

// brokenCalls are the calls of order systems, each with a body that is well formed but
// for its first field.
var brokenCalls = map[string]string{
	"/v1/quotes":          `{"currency":"yuan","coupons":[]}`,
	"/v1/coupons/lock":    `{"order_id":"","coupon_ids":["x"],"cart":{"currency":"CNY"}}`,
	"/v1/coupons/redeem":  `{"order_id":""}`,
	"/v1/coupons/release": `{"order_id":""}`,
	"/v1/coupons/refund":  `{"order_id":"","refund_id":"R","shipping":true}`,
}

func TestOpenAPI_EveryRefusalOfACheckout(t *testing.T) {
	t.Parallel()
	postgres := ownServer(t, devstack.StartPostgres)
	w, p, ann, _ := startCheckout(t, serverURLs{redis: devstack.RedisForTest(t).URL(), postgres: postgres.URL()})
	none := ann.known(w.merchantKey("acme", sale.ScopeQuotes))
	locks := ann.known(w.merchantKey("acme", sale.ScopeCouponsLock))
	for target, body := range brokenCalls {
		w.wantAnswer(w.post(ann.buyers, target, ann.user, body), 400, "/problems/invalid-request")
		w.wantAnswer(w.post(ann.buyers, target, ann.user, `{"user_id":"ann",`+body[1:]), 400, `"field":"user_id"`)
		w.wantAnswer(w.post(ann.buyers, target, "", body), 401, "/problems/unauthenticated")
		w.wantAnswer(w.post(ann.buyers, target, "", body, "Authorization: Bearer sk_x"), 401, "/problems/unauthenticated")
		refused := none
		if target == "/v1/quotes" {
			refused = locks
		}
		w.wantAnswer(refused.post(target, body[1:len(body)-1]), 403, "/problems/missing-scope")
		w.wantAnswer(w.post(ann.buyers, target, ann.user, strings.Repeat(" ", 2<<20)+"{}"), 413, "/problems/too-large")
		w.wantAnswer(w.ask(ann.buyers, "GET", target, ann.user), 405, "/problems/method-not-allowed")
	}
	w.wantAnswer(locks.list(), 403, "/problems/missing-scope")
	w.wantAnswer(w.ask(ann.buyers, "GET", "/v1/coupons", ""), 401, "/problems/unauthenticated")
	w.wantAnswer(w.ask(ann.buyers, "GET", "/v1/coupons?user_id=x", ann.user), 400, `"field":"user_id"`)
	w.wantAnswer(none.list(), 200, `{"coupons":[]}`)
	w.wantAnswer(ann.refund("A-1", "R-1", `"shipping":true`), 404, "/problems/no-such-order")
	w.wantBusy(ann, "/v1/quotes", "/v1/coupons/lock", "/v1/coupons/refund")

	w.must(postgres.Kill())
	for _, ask := range []func() answer{
		ann.list, func() answer { return ann.post("/v1/quotes", cartLines) }, func() answer { return ann.lock("A-1", uuid.NewString()) },
		func() answer { return ann.redeem("A-1") }, func() answer { return ann.release("A-1") }, func() answer { return ann.refund("A-1", "R-1", `"shipping":true`) },
	} {
		var got answer
		w.eventually("the last connections are gone", func() bool { got = ask(); return got.status == 503 })
		w.wantAnswer(got, 503, "/problems/unavailable")
	}
	w.wantAnswer(ann.post("/v1/quotes", cartLines+`,"coupons":[{"id":"k","kind":"amount","value":1000}]`), 200, `"payable":5600`)
	w.must(postgres.Restart(w.context()))
	w.stopped(p)
}

// wantBusy wants each target to refuse a big cart, while senders whose bodies do not end
// take all places that a buyer has for them. They are cut after a second, and come again.
func (w *world) wantBusy(s shopper, targets ...string) {
	w.t.Helper()
	big := strings.Repeat(" ", 100<<10)
	ctx, stop := context.WithCancel(w.context())
	var senders sync.WaitGroup
	defer senders.Wait()
	defer stop()
	for range 16 {
		senders.Go(func() {
			for ctx.Err() == nil {
				w.sendWithoutEnd(ctx, s, big)
			}
		})
	}
	for _, target := range targets {
		var got answer
		w.eventually("the places are taken", func() bool { got = w.post(s.buyers, target, s.user, big); return got.status == 503 })
		w.wantAnswer(got, 503, "/problems/busy")
	}
}

// sendWithoutEnd begins a body and waits to be cut.
func (w *world) sendWithoutEnd(ctx context.Context, s shopper, begin string) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(s.buyers, "http://"))
	if err != nil {
		return
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer conn.Close()
	if _, err := fmt.Fprint(conn, w.head("POST", "/v1/quotes", s.user, "Content-Length: 1000000")+begin); err == nil {
		_, _ = io.Copy(io.Discard, conn) // until the worker has had enough
	}
}
