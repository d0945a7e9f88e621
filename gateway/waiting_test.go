package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/shared/sale"
)

// confirm does what a worker does with a reservation: settle, then notify.
func (s *stores) confirm(t *testing.T, e sale.Entry, user string, notify bool) sale.Ticket {
	t.Helper()
	_, mine, err := s.stock.TicketsOf(t.Context(), e.ID, e.Epoch, user)
	must(t, err)
	if len(mine) == 0 {
		t.Fatalf("%s has no ticket", user)
	}
	_, _, err = s.stock.Settle(t.Context(), e.ID, e.Epoch, []sale.Settlement{{RID: mine[0].RID, Status: sale.StatusConfirmed, PayBy: time.Now().Add(time.Minute)}})
	must(t, err)
	if notify {
		must(t, s.queue.NotifyResults(e.ID, []sale.Result{{RID: mine[0].RID, Status: sale.StatusConfirmed}}))
	}
	return *mine[0]
}

// later gets in the background; the answer comes over the channel.
func (g *running) later(path, user string, change ...func(*http.Request)) <-chan answer {
	out := make(chan answer, 1)
	go func() { out <- g.do(http.MethodGet, path, user, change...) }()
	return out
}

func (g *running) waiters(n int) {
	g.t.Helper()
	g.until(fmt.Sprint(n, " waiters"), func() bool {
		_, text := g.opsGet("/metrics")
		return strings.Contains(text, fmt.Sprintf("sluice_ticket_waiters %d\n", n))
	})
}

func (g *running) receive(out <-chan answer) answer {
	g.t.Helper()
	select {
	case a := <-out:
		return a
	case <-time.After(patience):
		g.t.Fatal("no answer to a read that waits")
		return answer{}
	}
}

func TestTicket_WaitAnswersWhenTheOutcomeIsThere(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	ticket := g.attempt(e.ID, "ada").text("ticket")
	waiting := g.later("/v1/tickets/"+ticket+"?wait=25", "ada")
	g.waiters(1)
	start := time.Now()
	s.confirm(t, e, "ada", true)
	got := g.receive(waiting)
	if got.text("status") != "confirmed" || time.Since(start) > 5*time.Second {
		t.Errorf("after %v: %s", time.Since(start), got.raw)
	}
	g.waiters(0)
	if got = g.do(http.MethodGet, "/v1/tickets/"+ticket+"?wait=25", "ada"); got.text("status") != "confirmed" {
		t.Errorf("an outcome that is there already: %s", got.raw)
	}
}

func TestTicket_WaitWithoutNewsAnswersAtTheEnd(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	ticket := g.attempt(e.ID, "ada").text("ticket")
	start := time.Now()
	got := g.do(http.MethodGet, "/v1/tickets/"+ticket+"?wait=1", "ada")
	if got.text("status") != "queued" || time.Since(start) < time.Second {
		t.Errorf("after %v: %s", time.Since(start), got.raw)
	}
}

func TestTicket_ETagIsNotModifiedUntilSomethingChanges(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	path := "/v1/tickets/" + g.attempt(e.ID, "ada").text("ticket")
	first := g.do(http.MethodGet, path, "ada")
	known := header("If-None-Match", first.header.Get("ETag"))
	if same := g.do(http.MethodGet, path, "ada", known); same.status != http.StatusNotModified || same.raw != "" {
		t.Errorf("unchanged: %d %s", same.status, same.raw)
	}
	if same := g.do(http.MethodGet, path+"?wait=1", "ada", known); same.status != http.StatusNotModified {
		t.Errorf("unchanged after waiting: %d %s", same.status, same.raw)
	}
	waiting := g.later(path+"?wait=25", "ada", known)
	g.waiters(1)
	s.confirm(t, e, "ada", true)
	got := g.receive(waiting)
	if got.text("status") != "confirmed" || got.header.Get("ETag") == first.header.Get("ETag") {
		t.Errorf("changed: %d %s", got.status, got.raw)
	}
}

func TestTicket_ProgressIsNewsForWhoKnowsTheRest(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 50)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	for i := range 20 {
		g.attempt(e.ID, fmt.Sprint("before-", i))
	}
	path := "/v1/tickets/" + g.attempt(e.ID, "ada").text("ticket")
	progress := sale.Progress{SaleID: e.ID, Epoch: 1, Served: 1, RatePerSecond: 4}
	must(t, s.queue.NotifyProgress(progress))
	var got answer
	g.until("ahead is known", func() bool {
		got = g.do(http.MethodGet, path, "ada")
		return got.body["ahead"] == 19.0
	})
	waiting := g.later(path+"?wait=25", "ada", header("If-None-Match", got.header.Get("ETag")))
	g.waiters(1)
	progress.Served = 18
	must(t, s.queue.NotifyProgress(progress))
	if got = g.receive(waiting); got.body["ahead"] != 2.0 {
		t.Errorf("got %s", got.raw)
	}
}

func TestTicket_ConfirmedWaitsForWhatComesNext(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	path := "/v1/tickets/" + g.attempt(e.ID, "ada").text("ticket")
	ticket := s.confirm(t, e, "ada", true)
	must(t, s.queue.NotifyProgress(sale.Progress{SaleID: e.ID, Epoch: 1, Served: 1, RatePerSecond: 1}))
	g.until("progress is heard", func() bool { return strings.Contains(g.do(http.MethodGet, "/v1/sales/"+e.ID, "").raw, `"served":1`) })
	known := header("If-None-Match", g.do(http.MethodGet, path, "ada").header.Get("ETag"))
	start := time.Now()
	if same := g.do(http.MethodGet, path+"?wait=1", "ada", known); same.status != http.StatusNotModified || time.Since(start) < time.Second {
		t.Errorf("unchanged: %d after %v", same.status, time.Since(start))
	}
	waiting := g.later(path+"?wait=25", "ada", known)
	g.waiters(1)
	_, _, err := s.stock.Release(t.Context(), e.ID, 1, []sale.Release{{RID: ticket.RID, Status: sale.StatusExpired, Give: 1}})
	must(t, err)
	must(t, s.queue.NotifyResults(e.ID, []sale.Result{{RID: ticket.RID, Status: sale.StatusExpired}}))
	if got := g.receive(waiting); got.text("status") != "expired" {
		t.Errorf("expired: %d %s", got.status, got.raw)
	}
}

func TestTicket_ManyWaitersAreAllWokenAndMoreAreAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	const buyers = 200
	e := s.sell(t, buyers+1)
	g := s.startReady(t, "-ticket-waiters", fmt.Sprint(buyers))
	g.untilWarm(e.ID)
	var all []<-chan answer
	for i := range buyers {
		user := fmt.Sprint("buyer-", i)
		all = append(all, g.later("/v1/tickets/"+g.attempt(e.ID, user).text("ticket")+"?wait=25", user))
	}
	g.waiters(buyers)
	start := time.Now()
	late := g.do(http.MethodGet, "/v1/tickets/"+g.attempt(e.ID, "late").text("ticket")+"?wait=25", "late")
	if late.text("status") != "queued" || time.Since(start) > 10*time.Second {
		t.Errorf("one too many, after %v: %s", time.Since(start), late.raw)
	}
	var confirmed sync.WaitGroup
	turns := make(chan struct{}, 16) // no more at a time than the stores' connections
	for i := range buyers {
		confirmed.Go(func() {
			turns <- struct{}{}
			s.confirm(t, e, fmt.Sprint("buyer-", i), true)
			<-turns
		})
	}
	confirmed.Wait()
	for _, waiting := range all {
		if got := g.receive(waiting); got.text("status") != "confirmed" {
			t.Errorf("got %s", got.raw)
		}
	}
}

func TestTicket_WaitMustBeSeconds(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	path := "/v1/tickets/" + g.attempt(e.ID, "ada").text("ticket")
	for _, wait := range []string{"", "x", "-1", "26", "1.5", "1s"} {
		got := g.do(http.MethodGet, path+"?wait="+wait, "ada")
		g.expect(got, http.StatusBadRequest, "invalid-request")
		if got.text("field") != "wait" {
			t.Errorf("wait=%s: %s", wait, got.raw)
		}
	}
}

func TestInstant_WaitsForTheOutcome(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5, func(e *sale.Sale) { e.Mode = sale.ModeInstant })
	g := s.startReady(t, "-instant-budget", "2s")
	g.untilWarm(e.ID)
	attempt := func(user string) <-chan answer {
		out := make(chan answer, 1)
		go func() { out <- g.attempt(e.ID, user) }()
		g.waiters(1)
		return out
	}
	ada := attempt("ada")
	ticket := s.confirm(t, e, "ada", true)
	got := g.receive(ada)
	if got.status != http.StatusCreated || got.text("order_id") != ticket.RID || got.header.Get("Location") == "" {
		t.Errorf("confirmed in time: %d %s", got.status, got.raw)
	}
	g.waiters(0)

	bob := attempt("bob")
	_, mine, err := s.stock.TicketsOf(t.Context(), e.ID, 1, "bob")
	must(t, err)
	_, _, err = s.stock.Release(t.Context(), e.ID, 1, []sale.Release{{RID: mine[0].RID, Status: sale.StatusRejected, Reason: sale.ReasonSurplus}})
	must(t, err)
	must(t, s.queue.NotifyResults(e.ID, []sale.Result{{RID: mine[0].RID, Status: sale.StatusRejected}}))
	got = g.receive(bob)
	g.expect(got, http.StatusConflict, "rejected")
	if inside, _ := got.body["ticket"].(map[string]any); inside["status"] != "rejected" || inside["reason"] != "surplus" {
		t.Errorf("rejected in time: %s", got.raw)
	}
	g.waiters(0)

	if got = g.receive(attempt("cyn")); got.status != http.StatusAccepted || got.text("status") != "queued" {
		t.Errorf("not in time: %d %s", got.status, got.raw)
	}
}

func TestSoldOut_IsBroadcastBetweenGateways(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 1)
	one, other := s.startReady(t, "-refresh", "1h"), s.startReady(t, "-refresh", "1h")
	for _, g := range []*running{one, other} {
		g.until("warm", func() bool { code, _ := g.opsGet("/readyz/sales/" + e.ID); return code == http.StatusOK })
	}
	state := func() string { return other.do(http.MethodGet, "/v1/sales/"+e.ID, "").text("state") }
	if state() != "open" {
		t.Fatalf("state %s before", state())
	}
	one.expectStatus(one.attempt(e.ID, "ada"), http.StatusAccepted)
	other.until("sold out by hearsay", func() bool { return state() == "sold_out" })
}

func TestAddressLimit_TooManyAttemptsOfOneAddress(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t, "-address-rate", "0.1", "-address-burst", "2")
	g.untilWarm(e.ID)
	g.expectStatus(g.attempt(e.ID, "ada"), http.StatusAccepted)
	g.expectStatus(g.attempt(e.ID, "bob"), http.StatusAccepted)
	got := g.attempt(e.ID, "cyn")
	g.expect(got, http.StatusTooManyRequests, "too-many-requests")
	for name, want := range map[string]string{"Retry-After": "10", "RateLimit": `"address";r=0;t=10`, "RateLimit-Policy": `"address";q=2;w=20`} {
		if got.header.Get(name) != want {
			t.Errorf("%s: %s, want %s", name, got.header.Get(name), want)
		}
	}
	if mine := g.do(http.MethodGet, "/v1/sales/"+e.ID+"/tickets/me", "ada"); mine.status != http.StatusOK {
		t.Errorf("reading tickets: %s", mine.raw)
	}
}

// Who waits for one store while it starts does not say that the others are away too.
func TestMetrics_AGatewayThatWaitsForOneStoreSaysThatTheOtherAnswers(t *testing.T) {
	t.Parallel()
	g := sharedStores(t).start(t, "-nats-url", "nats://127.0.0.1:1")
	var text string
	g.until("redis is up", func() bool {
		_, text = g.opsGet("/metrics")
		return strings.Contains(text, `sluice_dependency_up{dependency="redis"} 1`+"\n")
	})
	if !strings.Contains(text, `sluice_dependency_up{dependency="nats"} 0`+"\n") {
		t.Errorf("nats is up:\n%s", text)
	}
}

func TestMetrics_ShowExitsCallsAndDependencies(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	g.attempt(e.ID, "ada")
	var text string
	for _, line := range []string{
		`sluice_funnel_entered_total{layer="reserve"} 1`,
		`sluice_funnel_exits_total{layer="hand_over",outcome="accepted"} 1`,
		`sluice_call_size_count{call="hand_over"} 1`,
		`sluice_call_seconds_count{call="reserve"} 1`,
		`sluice_calls_in_flight{call="reserve"} 0`,
		`sluice_attempt_seconds_count{outcome="accepted"} 1`,
		`sluice_call_faults_total{call="reserve"} 0`,
		`sluice_dependency_up{dependency="redis"} 1`,
		`sluice_dependency_up{dependency="nats"} 1`,
	} {
		g.until(line, func() bool { _, text = g.opsGet("/metrics"); return strings.Contains(text, line+"\n") })
	}
}
