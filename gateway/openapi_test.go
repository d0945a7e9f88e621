package main

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"sluice/shared/auth"
	"sluice/shared/sale"
)

func TestOpenAPI_IsServedAndCached(t *testing.T) {
	t.Parallel()
	g := sharedStores(t).startReady(t)
	file, err := os.ReadFile("internal/httpapi/openapi.yaml")
	must(t, err)
	got := g.do(http.MethodGet, "/openapi.yaml", "")
	g.expectStatus(got, http.StatusOK)
	if got.raw != string(file) || got.header.Get("Content-Type") != "application/yaml" {
		t.Errorf("got %d bytes of %s", len(got.raw), got.header.Get("Content-Type"))
	}
	g.expectStatus(g.do(http.MethodGet, "/openapi.yaml", "", header("If-None-Match", got.header.Get("ETag"))), http.StatusNotModified)
}

func TestSales_ListIsNotModified(t *testing.T) {
	t.Parallel()
	g := connectOwnStores(t).startReady(t) // no sale of another test may come in between
	got := g.do(http.MethodGet, "/v1/sales", "")
	if got.raw != `{"sales":[]}` {
		t.Errorf("no sales: %s", got.raw)
	}
	g.expectStatus(g.do(http.MethodGet, "/v1/sales", "", header("If-None-Match", got.header.Get("ETag"))), http.StatusNotModified)
}

func TestIfNoneMatch_ComparesWeaklyAndTakesLists(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	ticket := "/v1/tickets/" + g.attempt(e.ID, "ada").text("ticket")
	for _, path := range []string{"/v1/sales/" + e.ID, ticket, "/openapi.yaml"} {
		tag := g.do(http.MethodGet, path, "ada").header.Get("ETag")
		for known, want := range map[string]int{
			tag: 304, "W/" + tag: 304, `"other", W/` + tag: 304, "*": 304,
			tag[1 : len(tag)-1]: 200, `"other"`: 200, `"*"`: 200, tag[:len(tag)-1]: 200, "": 200,
		} {
			if got := g.do(http.MethodGet, path, "ada", header("If-None-Match", known)); got.status != want {
				t.Errorf("%s with %s: %d, want %d", path, known, got.status, want)
			}
		}
		if got := g.do(http.MethodGet, path, "ada", header("If-None-Match", `"other"`), header("If-None-Match", tag)); got.status != 304 {
			t.Errorf("%s with two headers: %d", path, got.status)
		}
	}
}

func TestAttempt_PausedIsRefusedFromMemory(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	g.expectStatus(g.attempt(e.ID, "ada"), http.StatusAccepted)
	e.Rev, e.Paused = 2, true
	s.announce(t, e)
	g.until("paused", func() bool { return g.do(http.MethodGet, "/v1/sales/"+e.ID, "").text("state") == "paused" })
	got := g.attempt(e.ID, "bob")
	g.expect(got, http.StatusServiceUnavailable, "paused")
	if got.header.Get("Retry-After") == "" || got.text("my_tickets") != "/v1/sales/"+e.ID+"/tickets/me" {
		t.Errorf("got %s %v", got.raw, got.header)
	}
	g.expectStatus(g.do(http.MethodGet, got.text("my_tickets"), "ada"), http.StatusOK)
	e.Rev, e.Paused = 3, false
	s.announce(t, e)
	g.until("resumed", func() bool { return g.attempt(e.ID, "bob").status == http.StatusAccepted })
}

func TestTickets_OfARetiredSaleAreGone(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	ticket := g.attempt(e.ID, "ada").text("ticket")
	e.Rev, e.Retired = 2, true
	s.announce(t, e)
	g.until("retired", func() bool { return g.do(http.MethodGet, "/v1/tickets/"+ticket, "ada").status == http.StatusGone })
	g.expect(g.do(http.MethodGet, "/v1/tickets/"+ticket, "ada"), http.StatusGone, "retired")
	g.expect(g.do(http.MethodGet, "/v1/sales/"+e.ID+"/tickets/me", "ada"), http.StatusGone, "retired")
	g.expect(g.do(http.MethodGet, "/v1/tickets/"+ticket, "bob"), http.StatusNotFound, "no-such-ticket")
	g.expect(g.attempt(e.ID, "bob"), http.StatusConflict, "closed")
}

func TestTickets_OfAForgottenSaleAreGoneWithoutMemoryOfIt(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t, "-forget-after", "100ms", "-refresh", "50ms")
	g.untilWarm(e.ID)
	ticket := g.attempt(e.ID, "ada").text("ticket")
	e.Rev, e.Retired = 2, true
	s.announce(t, e)
	must(t, s.queue.RemoveEntry(t.Context(), e.ID))
	g.until("forgotten", func() bool { return g.do(http.MethodGet, "/v1/sales/"+e.ID, "").status == http.StatusNotFound })
	g.expect(g.attempt(e.ID, "ada"), http.StatusNotFound, "no-such-sale")
	// Another gateway may have sold it a moment ago, and its announcement be under way.
	g.expect(g.do(http.MethodGet, "/v1/tickets/"+ticket, "ada"), http.StatusServiceUnavailable, "unavailable")
	signer, err := auth.NewTicketSigner([]byte(jwtKey))
	must(t, err)
	old := signer.Sign(e.ID, "ada", 1, "0192f000-0000-7000-8000-000000000000")
	g.expect(g.do(http.MethodGet, "/v1/tickets/"+old, "ada"), http.StatusGone, "retired")
	g.expect(g.do(http.MethodGet, "/v1/tickets/"+old, "bob"), http.StatusNotFound, "no-such-ticket")
}

func TestAttempt_OverTheAdmissionRateIsBusy(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t, "-admit-rate", "0.01")
	g.untilWarm(e.ID)
	g.expectStatus(g.attempt(e.ID, "ada"), http.StatusAccepted)
	got := g.attempt(e.ID, "bob")
	g.expect(got, http.StatusServiceUnavailable, "busy")
	if got.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	snap, _, err := s.stock.Snapshot(t.Context(), e.ID, 1)
	must(t, err)
	if snap.Accepted != 1 {
		t.Errorf("%d units taken", snap.Accepted)
	}
	_, metrics := g.opsGet("/metrics")
	for _, line := range []string{`sluice_admission_attempts_per_second{of="all_sales"} 0.01`, `sluice_admission_attempts_per_second{of="one_sale"} 0`} {
		if !strings.Contains(metrics, "\n"+line+"\n") {
			t.Errorf("metrics have no %s", line)
		}
	}
}

func TestMyTickets_NeedATokenAndASale(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	g.expect(g.do(http.MethodGet, "/v1/sales/"+e.ID+"/tickets/me", ""), http.StatusUnauthorized, "unauthenticated")
	g.expect(g.do(http.MethodGet, "/v1/sales/nothing/tickets/me", "ada"), http.StatusNotFound, "no-such-sale")
	got := g.do(http.MethodGet, "/v1/sales/"+e.ID+"/tickets/me", "ada")
	if got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("headers %v", got.header)
	}
}

func TestTicket_EveryStatusIsAsDescribed(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 20)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	for _, status := range []sale.Status{sale.StatusConfirmed, sale.StatusPaid, sale.StatusExpired, sale.StatusCancelled, sale.StatusRefunded, sale.StatusRejected} {
		user := "buyer-" + string(status)
		ticket := g.attempt(e.ID, user).text("ticket")
		rid := s.confirm(t, e, user, false).RID
		switch {
		case status == sale.StatusPaid:
			_, _, err := s.stock.Settle(t.Context(), e.ID, 1, []sale.Settlement{{RID: rid, Status: status}})
			must(t, err)
		case status.Closed():
			release := sale.Release{RID: rid, Status: status, Give: 1}
			if status == sale.StatusRejected {
				release.Reason, release.Give = sale.ReasonInvalid, 0
			}
			_, _, err := s.stock.Release(t.Context(), e.ID, 1, []sale.Release{release})
			must(t, err)
		}
		start := time.Now()
		got := g.do(http.MethodGet, "/v1/tickets/"+ticket+"?wait=25", user)
		if got.text("status") != string(status) || time.Since(start) > 10*time.Second {
			t.Errorf("after %v: %s, want %s", time.Since(start), got.raw, status)
		}
		g.expectStatus(g.do(http.MethodGet, "/v1/sales/"+e.ID+"/tickets/me", user), http.StatusOK)
	}
}
