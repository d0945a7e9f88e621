package main

import (
	"net/http"
	"testing"
	"time"

	"sluice/shared/sale"
)

// coupons makes a sale one of coupons.
func coupons(s *sale.Sale) {
	s.Kind, s.Template, s.SKU, s.PriceMinor, s.Currency = sale.KindCoupon, "newcomer-20", "newcomer-20", 0, "EUR"
}

// expectHeld wants a claim's ticket as its buyer sees it once the coupon is theirs.
func (g *running) expectHeld(a answer, rid string) {
	g.t.Helper()
	for member, want := range map[string]any{
		"status": "confirmed", "coupon_id": rid, "order_id": rid, "amount": 0.0, "currency": "EUR", "pay_by": nil, "eta": nil,
	} {
		if a.body[member] != want {
			g.t.Errorf("%s is %v, want %v: %s", member, a.body[member], want, a.raw)
		}
	}
}

func TestClaim_EndsAtConfirmed(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5, coupons)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	sold := g.do(http.MethodGet, "/v1/sales/"+e.ID, "")
	if sold.text("kind") != "coupon" || sold.text("sku") != "newcomer-20" || sold.body["price"] != 0.0 || sold.text("currency") != "EUR" {
		t.Errorf("sale: %s", sold.raw)
	}

	accepted := g.attempt(e.ID, "ada")
	g.expectStatus(accepted, http.StatusAccepted)
	path := "/v1/tickets/" + accepted.text("ticket")
	queued := g.do(http.MethodGet, path, "ada")
	if queued.text("status") != "queued" || queued.body["coupon_id"] != nil {
		t.Errorf("queued: %s", queued.raw)
	}
	events := g.follow(accepted.text("ticket"), "ada")
	events.expectNext("queued")
	outcome := g.later(path+"?wait=25", "ada")
	news := g.later(path+"?wait=25", "ada", header("If-None-Match", queued.header.Get("ETag")))
	g.waiters(3)
	_, mine, err := s.stock.TicketsOf(t.Context(), e.ID, e.Epoch, "ada")
	must(t, err)
	s.pay(t, e, mine[0].RID) // as a worker shows a claim

	held := g.receive(outcome)
	g.expectHeld(held, mine[0].RID)
	g.expectHeld(g.receive(news), mine[0].RID)
	last := events.expectNext("confirmed")
	events.expectEnd()
	if tag := held.header.Get("ETag"); tag != last.id || tag == queued.header.Get("ETag") {
		t.Errorf("ETag %s, queued %s, last event %s", tag, queued.header.Get("ETag"), last.id)
	}
	if over := g.follow(accepted.text("ticket"), "ada", header("Last-Event-ID", last.id)); over.refusal.status != http.StatusNoContent {
		t.Errorf("who knows the end: %d %s", over.refusal.status, over.refusal.raw)
	}
	start := time.Now() // nobody waits for what comes after the last
	g.expectStatus(g.do(http.MethodGet, path+"?wait=25", "ada", header("If-None-Match", last.id)), http.StatusNotModified)
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("the last state was waited for, %v", took)
	}

	again := g.attempt(e.ID, "ada")
	g.expectStatus(again, http.StatusOK)
	g.expectHeld(again, mine[0].RID)
	listed := g.do(http.MethodGet, "/v1/sales/"+e.ID+"/tickets/me", "ada")
	g.expectStatus(listed, http.StatusOK)
	if tickets, _ := listed.body["tickets"].([]any); len(tickets) != 1 {
		t.Errorf("tickets of ada: %s", listed.raw)
	}
}

func TestClaim_InstantAnswersWithTheCoupon(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5, coupons, func(e *sale.Sale) { e.Mode = sale.ModeInstant })
	g := s.startReady(t, "-instant-budget", "10s")
	g.untilWarm(e.ID)
	out := make(chan answer, 1)
	go func() { out <- g.attempt(e.ID, "ada") }()
	g.waiters(1)
	_, mine, err := s.stock.TicketsOf(t.Context(), e.ID, e.Epoch, "ada")
	must(t, err)
	s.pay(t, e, mine[0].RID)
	got := g.receive(out)
	g.expectStatus(got, http.StatusCreated)
	g.expectHeld(got, mine[0].RID)
}

func TestClaim_SoldOutOfCouponsMayReturnOnlyUntilAllAreSettled(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 1, coupons)
	g := s.startReady(t, "-refresh", "50ms")
	g.untilWarm(e.ID)
	g.expectStatus(g.attempt(e.ID, "ada"), http.StatusAccepted)
	got := g.attempt(e.ID, "bob")
	g.expect(got, http.StatusConflict, "sold-out")
	if got.body["may_return"] != true {
		t.Errorf("while nothing is decided: %s", got.raw)
	}
	_, mine, err := s.stock.TicketsOf(t.Context(), e.ID, e.Epoch, "ada")
	must(t, err)
	s.pay(t, e, mine[0].RID)
	g.until("nothing returns", func() bool { return g.attempt(e.ID, "bob").body["may_return"] == false })
}
