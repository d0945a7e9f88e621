package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/shared/devstack"
	"sluice/shared/sale"
)

func TestAttempt_AcceptedTicketIsFoundEverywhere(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	one, other := s.startReady(t), s.startReady(t)
	one.untilWarm(e.ID)
	other.untilWarm(e.ID)
	got := one.attempt(e.ID, "ada")
	one.expectStatus(got, http.StatusAccepted)
	ticket := got.text("ticket")
	if got.header.Get("Location") != "/v1/tickets/"+ticket || got.header.Get("Retry-After") == "" {
		t.Errorf("headers %v", got.header)
	}
	for member, want := range map[string]any{"sale": e.ID, "status": "queued", "sale_state": "open", "eta": nil} {
		if value, there := got.body[member]; !there || value != want {
			t.Errorf("%s = %v, want %v", member, value, want)
		}
	}
	for _, absent := range []string{"replay", "order_id", "amount", "pay_by", "reason"} {
		if _, there := got.body[absent]; there {
			t.Errorf("%s is in the body of a queued ticket", absent)
		}
	}
	again := other.attempt(e.ID, "ada") // over the other gateway
	other.expectStatus(again, http.StatusOK)
	if again.text("ticket") != ticket || again.body["replay"] != true || again.header.Get("Location") == "" {
		t.Errorf("replay %s", again.raw)
	}
	poll := other.do(http.MethodGet, "/v1/tickets/"+ticket, "ada")
	other.expectStatus(poll, http.StatusOK)
	mine := other.do(http.MethodGet, "/v1/sales/"+e.ID+"/tickets/me", "ada")
	other.expectStatus(mine, http.StatusOK)
	if list, _ := mine.body["tickets"].([]any); len(list) != 1 || list[0].(map[string]any)["ticket"] != ticket {
		t.Errorf("tickets/me %s", mine.raw)
	}
	nobody := other.do(http.MethodGet, "/v1/sales/"+e.ID+"/tickets/me", "bob")
	if nobody.raw != `{"tickets":[]}` {
		t.Errorf("bob's tickets: %s", nobody.raw)
	}
}

func TestTicket_ShowsTheOrderOnceSettled(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	ticket := g.attempt(e.ID, "ada").text("ticket")
	_, mine, err := s.stock.TicketsOf(t.Context(), e.ID, 1, "ada")
	must(t, err)
	payBy := time.Now().Add(time.Minute).Truncate(time.Millisecond)
	_, _, err = s.stock.Settle(t.Context(), e.ID, 1, []sale.Settlement{{RID: mine[0].RID, Status: sale.StatusConfirmed, PayBy: payBy}})
	must(t, err)
	got := g.do(http.MethodGet, "/v1/tickets/"+ticket, "ada")
	for member, want := range map[string]any{"status": "confirmed", "order_id": mine[0].RID, "amount": 199900.0, "currency": "CNY",
		"pay_by": payBy.UTC().Format("2006-01-02T15:04:05.999Z07:00")} {
		if got.body[member] != want {
			t.Errorf("%s = %v, want %v", member, got.body[member], want)
		}
	}
	_, _, err = s.stock.Release(t.Context(), e.ID, 1, []sale.Release{{RID: mine[0].RID, Status: sale.StatusRejected, Reason: sale.ReasonSurplus}})
	must(t, err)
	got = g.do(http.MethodGet, "/v1/tickets/"+ticket, "ada")
	if got.text("status") != "rejected" || got.text("reason") != "surplus" {
		t.Errorf("got %s", got.raw)
	}
}

func TestAttempt_Refusals(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	open := s.sell(t, 100)
	empty := s.sell(t, 0)
	later := s.sell(t, 5, func(e *sale.Sale) { e.OpensAt = time.Now().Add(90 * time.Second).UTC().Truncate(time.Second) })
	over := s.sell(t, 5, func(e *sale.Sale) { e.ClosesAt = time.Now().Add(-time.Minute) })
	picky := s.sell(t, 5, func(e *sale.Sale) {
		e.Eligibility = sale.Eligibility{MinAccountAge: time.Hour, MinPaidOrders: 2, Tags: []string{"vip"}}
	})
	invited := newSale(5, func(e *sale.Sale) { e.Eligibility.HasAllowList = true })
	s.load(t, invited, "ada")
	s.announce(t, invited)
	g := s.startReady(t)
	for _, e := range []sale.Entry{open, empty, later, over, picky, invited} {
		g.until("known "+e.ID, func() bool { return g.do(http.MethodGet, "/v1/sales/"+e.ID, "").status == http.StatusOK })
	}
	g.untilWarm(invited.ID)
	g.untilWarm(over.ID)
	old := time.Now().Add(-24 * time.Hour)
	for _, tc := range []struct {
		name, sale, user string
		change           []func(*http.Request)
		status           int
		problem          string
		members          map[string]any
	}{
		{"total 0", empty.ID, "ada", nil, 409, "sold-out", map[string]any{"may_return": false, "my_tickets": "/v1/sales/" + empty.ID + "/tickets/me"}},
		{"before the window", later.ID, "ada", nil, 409, "not-open", map[string]any{"opens_at": later.OpensAt.Format(time.RFC3339)}},
		{"after the window", over.ID, "ada", nil, 409, "closed", map[string]any{"my_tickets": "/v1/sales/" + over.ID + "/tickets/me"}},
		{"no such sale", "nothing", "ada", nil, 404, "no-such-sale", nil},
		{"no token", open.ID, "", nil, 401, "unauthenticated", nil},
		{"forged token", open.ID, "", []func(*http.Request){header("Authorization", "Bearer "+token(t, "ada", sale.Claims{})+"x")}, 401, "unauthenticated", nil},
		{"two tokens", open.ID, "ada", []func(*http.Request){header("Authorization", "Bearer "+token(t, "bob", sale.Claims{}))}, 401, "unauthenticated", nil},
		{"user header without a token", open.ID, "", []func(*http.Request){header("X-User-Id", "ada")}, 401, "unauthenticated", nil},
		{"account too young", picky.ID, "", []func(*http.Request){claims(t, "ada", sale.Claims{AccountCreatedAt: time.Now(), PaidOrders: 2, Tags: []string{"vip"}})}, 403, "not-eligible", map[string]any{"reason": "account_too_young"}},
		{"too few paid orders", picky.ID, "", []func(*http.Request){claims(t, "ada", sale.Claims{AccountCreatedAt: old, PaidOrders: 1, Tags: []string{"vip"}})}, 403, "not-eligible", map[string]any{"reason": "too_few_paid_orders"}},
		{"missing tag", picky.ID, "", []func(*http.Request){claims(t, "ada", sale.Claims{AccountCreatedAt: old, PaidOrders: 2})}, 403, "not-eligible", map[string]any{"reason": "missing_tag"}},
		{"not on the allow list", invited.ID, "eve", nil, 403, "not-eligible", map[string]any{"reason": "not_on_allow_list"}},
		{"unknown field", open.ID, "ada", []func(*http.Request){body(`{"quantity":2}`)}, 400, "invalid-request", map[string]any{"field": "quantity"}},
		{"not an object", open.ID, "ada", []func(*http.Request){body(`[]`)}, 400, "invalid-request", map[string]any{"field": "body"}},
		{"not JSON", open.ID, "ada", []func(*http.Request){body("{\x00")}, 400, "invalid-request", map[string]any{"field": "body"}},
		{"trailing data", open.ID, "ada", []func(*http.Request){body(`{} {}`)}, 400, "invalid-request", map[string]any{"field": "body"}},
		{"key too long", open.ID, "ada", []func(*http.Request){header("Idempotency-Key", strings.Repeat("k", 65))}, 400, "invalid-request", map[string]any{"field": "Idempotency-Key"}},
		{"key twice", open.ID, "ada", []func(*http.Request){header("Idempotency-Key", "a"), header("Idempotency-Key", "b")}, 400, "invalid-request", map[string]any{"field": "Idempotency-Key"}},
		{"body too large", open.ID, "ada", []func(*http.Request){body(strings.Repeat(" ", 9<<10))}, 413, "too-large", nil},
		{"headers too large", open.ID, "ada", []func(*http.Request){header("X-Padding", strings.Repeat("x", 9<<10))}, 413, "too-large", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g.t = t
			got := g.attempt(tc.sale, tc.user, tc.change...)
			g.expect(got, tc.status, tc.problem)
			for member, want := range tc.members {
				if got.body[member] != want {
					t.Errorf("%s = %v, want %v", member, got.body[member], want)
				}
			}
		})
	}
	g.t = t
	for _, e := range []sale.Entry{open, later, over, picky, invited} {
		snap, handOff, err := s.stock.Snapshot(t.Context(), e.ID, 1)
		must(t, err)
		if snap.Stock != e.Total || snap.Accepted != 0 || handOff.Count != 0 {
			t.Errorf("refusals moved something: %+v", snap)
		}
	}
	if got := g.attempt(invited.ID, "ada"); got.status != http.StatusAccepted {
		t.Errorf("invited buyer: %s", got.raw)
	}
	if got := g.attempt(later.ID, "ada"); got.header.Get("Retry-After") == "" {
		t.Error("not-open without Retry-After")
	}
}

func TestAttempt_SoldOutLinksToTheWinnersTicket(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 1)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	won := g.attempt(e.ID, "ada")
	g.expectStatus(won, http.StatusAccepted)
	lost := g.attempt(e.ID, "bob")
	g.expect(lost, http.StatusConflict, "sold-out")
	if lost.body["may_return"] != true || lost.header.Get("Retry-After") != "" {
		t.Errorf("got %s %v", lost.raw, lost.header)
	}
	g.expect(g.attempt(e.ID, "ada"), http.StatusConflict, "sold-out") // from memory
	mine := g.do(http.MethodGet, lost.text("my_tickets"), "ada")
	if !strings.Contains(mine.raw, won.text("ticket")) {
		t.Errorf("tickets/me %s", mine.raw)
	}
}

func TestAttempt_KeysAndSlots(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 10, func(e *sale.Sale) { e.PerUserLimit = 2 })
	g := s.startReady(t)
	g.untilWarm(e.ID)
	key := func(k string) func(*http.Request) { return header("Idempotency-Key", k) }
	first := g.attempt(e.ID, "ada", key(`"k1"`))
	g.expectStatus(first, http.StatusAccepted)
	bare := g.attempt(e.ID, "ada", key("k1")) // quoted or bare is the same key
	g.expectStatus(bare, http.StatusOK)
	second := g.attempt(e.ID, "ada", key("k2"))
	g.expectStatus(second, http.StatusAccepted)
	if bare.text("ticket") != first.text("ticket") || second.text("ticket") == first.text("ticket") {
		t.Errorf("tickets %s, %s, %s", first.raw, bare.raw, second.raw)
	}
	g.expect(g.attempt(e.ID, "ada", key("k3")), http.StatusConflict, "limit-reached")
	keyless := g.attempt(e.ID, "ada")
	if keyless.status != http.StatusOK || keyless.text("ticket") != second.text("ticket") {
		t.Errorf("keyless with all slots taken: %s", keyless.raw)
	}
}

func TestTicket_ForgedForeignAndMalformedAreTheSame(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	ticket := g.attempt(e.ID, "ada").text("ticket")
	want := ""
	for name, path := range map[string]string{"foreign": ticket, "forged": ticket[:len(ticket)-2] + "AA", "malformed": "x", "long": strings.Repeat("A", 2000)} {
		got := g.do(http.MethodGet, "/v1/tickets/"+path, "bob")
		g.expect(got, http.StatusNotFound, "no-such-ticket")
		if want == "" {
			want = got.raw
		}
		if got.raw != want {
			t.Errorf("%s: %s differs from %s", name, got.raw, want)
		}
	}
	g.expect(g.do(http.MethodGet, "/v1/tickets/"+ticket, ""), http.StatusUnauthorized, "unauthenticated")
}

func TestTicket_WhileTheSaleIsNotLiveIsUnavailableNeverMissing(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	ticket := g.attempt(e.ID, "ada").text("ticket")
	must(t, s.stock.Fence(t.Context(), e.ID, 2, "rebuild"))
	for _, path := range []string{"/v1/tickets/" + ticket, "/v1/sales/" + e.ID + "/tickets/me"} {
		got := g.do(http.MethodGet, path, "ada")
		g.expect(got, http.StatusServiceUnavailable, "unavailable")
		if got.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	g.expect(g.attempt(e.ID, "bob"), http.StatusServiceUnavailable, "unavailable")
	// The next epoch knows nothing of ada's reservation: it was lost before it was handed over.
	e.Epoch, e.Rev = 2, 2
	s.load(t, func() sale.Entry { e.Epoch = 3; return e }())
	s.announce(t, e)
	g.untilWarm(e.ID)
	got := g.do(http.MethodGet, "/v1/tickets/"+ticket, "ada")
	if got.text("status") != "rejected" || got.text("reason") != "not_accepted" {
		t.Errorf("got %s", got.raw)
	}
}

func TestSales_DescribeThemselvesWithETags(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 20)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	got := g.do(http.MethodGet, "/v1/sales/"+e.ID, "")
	for member, want := range map[string]any{"id": e.ID, "kind": "goods", "title": "Phone", "sku": "PHONE-1", "price": 199900.0, "currency": "CNY",
		"per_user_limit": 1.0, "mode": "queued", "state": "open", "availability": "plenty"} {
		if got.body[member] != want {
			t.Errorf("%s = %v, want %v", member, got.body[member], want)
		}
	}
	if got.header.Get("Cache-Control") != "public, max-age=1" {
		t.Errorf("headers %v", got.header)
	}
	same := g.do(http.MethodGet, "/v1/sales/"+e.ID, "", header("If-None-Match", got.header.Get("ETag")))
	if same.status != http.StatusNotModified || same.raw != "" {
		t.Errorf("unchanged sale: %d %s", same.status, same.raw)
	}
	if list := g.do(http.MethodGet, "/v1/sales", ""); !strings.Contains(list.raw, `"id":"`+e.ID+`"`) {
		t.Errorf("list %s", list.raw)
	}
	g.expect(g.do(http.MethodGet, "/v1/sales/nothing", ""), http.StatusNotFound, "no-such-sale")
}

func TestReady_OnlyOnceTheSaleIsLoadedAndThenByItself(t *testing.T) {
	t.Parallel()
	redis, err := devstack.StartRedis(t.Context(), devstack.Options{})
	must(t, err)
	t.Cleanup(func() { _ = redis.Close() })
	nats, err := devstack.StartNATS(t.Context(), devstack.Options{})
	must(t, err)
	t.Cleanup(func() { _ = nats.Close() })
	s := connectStores(t, redis.URL(), nats.URL())
	e := newSale(5)
	s.announce(t, e)
	g := s.start(t)
	g.until("sales phase fails", func() bool {
		code, text := g.opsGet("/readyz?verbose")
		return code == http.StatusServiceUnavailable && strings.Contains(text, e.ID+" is not loaded in redis at epoch 1")
	})
	if _, err := http.Get(g.url + "/v1/sales"); err == nil {
		t.Error("a gateway that is not ready answers buyers")
	}
	s.load(t, e)
	g.until("ready", func() bool { code, _ := g.opsGet("/readyz"); return code == http.StatusOK })

	must(t, redis.Kill())
	must(t, nats.Kill())
	g.expect(g.attempt(e.ID, "ada"), http.StatusServiceUnavailable, "unavailable")
	if code, text := g.opsGet("/readyz?verbose"); code != http.StatusOK {
		t.Errorf("lost stores made a warm gateway unready: %d %s", code, text)
	}
}

func TestAttempt_UnknownHandOverIsUnavailableWithTheTicket(t *testing.T) {
	t.Parallel()
	nats, err := devstack.StartNATS(t.Context(), devstack.Options{})
	must(t, err)
	t.Cleanup(func() { _ = nats.Close() })
	s := connectStores(t, devstack.RedisForTest(t).URL(), nats.URL())
	e := s.sell(t, 5)
	g := s.startReady(t, "-publish-timeout", "500ms")
	must(t, nats.Kill())
	got := g.attempt(e.ID, "ada")
	g.expect(got, http.StatusServiceUnavailable, "unavailable")
	ticket, _ := got.body["ticket"].(map[string]any)
	if ticket == nil || got.header.Get("Retry-After") == "" || got.header.Get("Location") != fmt.Sprint("/v1/tickets/", ticket["ticket"]) {
		t.Fatalf("got %s %v", got.raw, got.header)
	}
	_, handOff, err := s.stock.Snapshot(t.Context(), e.ID, 1)
	must(t, err)
	if handOff.Count != 1 {
		t.Errorf("%d in handoff", handOff.Count)
	}
	must(t, nats.Restart(t.Context()))
	g.until("handed over by repeating", func() bool { return g.attempt(e.ID, "ada").status == http.StatusOK })
	again := g.attempt(e.ID, "ada")
	if again.text("ticket") != ticket["ticket"] {
		t.Errorf("another ticket after the repeat: %s", again.raw)
	}
}

func TestRun_ConfigMistakesNameTheFlag(t *testing.T) {
	t.Parallel()
	good := []string{"-jwt-hs256", jwtKey, "-jwt-issuer", "shop", "-jwt-audience", "sluice", "-ticket-key", jwtKey}
	for flag, args := range map[string][]string{
		"-jwt-hs256":        {"-jwt-issuer", "shop"},
		"-jwt-hs256-old":    append([]string{"-jwt-hs256-old", "short"}, good...),
		"-jwt-leeway":       append([]string{"-jwt-leeway", "6m"}, good...),
		"-jwt-issuer":       {"-jwt-hs256", jwtKey},
		"-ticket-key":       {"-jwt-hs256", jwtKey, "-jwt-issuer", "shop", "-jwt-audience", "sluice", "-ticket-key", "short"},
		"-user-header":      append([]string{"-user-header", "X-User"}, good...),
		"a header of its":   append([]string{"-user-header", "authorization", "-trusted-proxies", "10.0.0.1"}, good...),
		"of its own":        append([]string{"-user-header", "Accept-Encoding", "-trusted-proxies", "10.0.0.1"}, good...),
		"letters, digits":   append([]string{"-user-header", "X User", "-trusted-proxies", "10.0.0.1"}, good...),
		"-admin-token":      append([]string{"-admin-token", "short"}, good...),
		"-redis-url":        append([]string{"-redis-url", "http://x"}, good...),
		"-nats-url":         append([]string{"-nats-url", "nats://ann:sec/ret@h:4222"}, good...),
		"-reserve-batch":    append([]string{"-reserve-batch", "257"}, good...),
		"-publish-timeout":  append([]string{"-publish-timeout", "never"}, good...),
		"-log-level":        append([]string{"-log-level", "loud"}, good...),
		"-nonsense":         append([]string{"-nonsense"}, good...),
		"SLUICE_FAILPOINTS": good,
	} {
		env := func(name string) string {
			if name == "SLUICE_FAILPOINTS" && flag == name {
				return "gateway.nowhere=kill"
			}
			return ""
		}
		err := run(t.Context(), args, env, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), flag) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v", flag, err)
		}
	}
}
