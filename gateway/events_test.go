package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/shared/auth"
	"sluice/shared/sale"
)

func TestEvents_TwoTicketsAreToldUntilTheyArePaid(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	one, other := s.startReady(t), s.startReady(t)
	one.untilWarm(e.ID)
	other.untilWarm(e.ID)
	ada := one.follow(one.attempt(e.ID, "ada").text("ticket"), "ada")
	bob := other.follow(one.attempt(e.ID, "bob").text("ticket"), "bob")
	first := ada.expectNext("queued")
	bob.expectNext("queued")
	if first.body["sale"] != e.ID || !strings.HasSuffix(ada.target, first.body["ticket"].(string)+"/events") {
		t.Errorf("the first event is of %v", first.body)
	}
	if ms := ada.retry.Load(); ms < 1000 || ms > 3000 {
		t.Errorf("retry after %d ms", ms)
	}
	adas := s.confirm(t, e, "ada", true)
	if got := ada.expectNext("confirmed"); got.body["order_id"] != adas.RID || got.id == first.id {
		t.Errorf("confirmed: %v", got)
	}
	bobs := s.confirm(t, e, "bob", true)
	bob.expectNext("confirmed")
	s.pay(t, e, bobs.RID)
	bob.expectNext("paid")
	bob.expectEnd()
	s.pay(t, e, adas.RID)
	ada.expectNext("paid")
	ada.expectEnd()
	one.waiters(0)
	other.waiters(0)
	// The connection is as good as any other.
	_, err := fmt.Fprintf(ada.conn, "GET /v1/sales/%s HTTP/1.1\r\nHost: x\r\n\r\n", e.ID)
	must(t, err)
	res, err := http.ReadResponse(ada.reader, nil)
	must(t, err)
	if _, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("after the stream: %d, %v", res.StatusCode, err)
	}
}

func TestEvents_ProgressIsTold(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 50)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	for i := range 20 {
		g.attempt(e.ID, fmt.Sprint("before-", i))
	}
	ada := g.follow(g.attempt(e.ID, "ada").text("ticket"), "ada")
	ada.expectNext("queued")
	for _, served := range []int64{1, 18} {
		must(t, s.queue.NotifyProgress(sale.Progress{SaleID: e.ID, Epoch: 1, Served: served, RatePerSecond: 4}))
		if got := ada.expectNext("queued"); got.body["ahead"] != float64(20-served) {
			t.Errorf("after %d: %v", served, got.body)
		}
	}
}

func TestEvents_WhoComesBackIsToldNothingTwiceAndMissesNothing(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	one, other := s.startReady(t), s.startReady(t, "-events-alive", "20ms")
	one.untilWarm(e.ID)
	other.untilWarm(e.ID)
	ticket := one.attempt(e.ID, "ada").text("ticket")
	first := one.follow(ticket, "ada")
	queued := first.expectNext("queued")
	first.close()
	again := other.follow(ticket, "ada", header("Last-Event-ID", queued.id))
	other.until("signs of life", func() bool { return again.alive.Load() > 2 })
	if len(again.events) != 0 {
		t.Errorf("what was known is told again: %v", again.next())
	}
	rid := s.confirm(t, e, "ada", true).RID
	confirmed := again.expectNext("confirmed")
	again.close()
	s.pay(t, e, rid)
	last := one.follow(ticket, "ada", header("Last-Event-ID", confirmed.id))
	paid := last.expectNext("paid")
	last.expectEnd()
	if over := one.follow(ticket, "ada", header("Last-Event-ID", paid.id)); over.refusal.status != http.StatusNoContent || over.refusal.raw != "" {
		t.Errorf("who knows the end: %d %s", over.refusal.status, over.refusal.raw)
	}
	for _, known := range []string{"", "other", `"other"`, "*", strings.Repeat("x", 4000)} {
		stranger := other.follow(ticket, "ada", header("Last-Event-ID", known))
		stranger.expectNext("paid")
		stranger.expectEnd()
	}
}

func TestEvents_AreRefusedAsTheTicketIs(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	ticket := g.attempt(e.ID, "ada").text("ticket")
	path := "/v1/tickets/" + ticket + "/events"
	g.expect(g.do(http.MethodGet, path, ""), http.StatusUnauthorized, "unauthenticated")
	g.expect(g.do(http.MethodGet, path, "", header("Authorization", "Bearer x.y.z")), http.StatusUnauthorized, "unauthenticated")
	foreign := g.do(http.MethodGet, path, "bob")
	g.expect(foreign, http.StatusNotFound, "no-such-ticket")
	for _, forged := range []string{"x", ticket[:len(ticket)-1], "A" + ticket, ticket + ".x", strings.Repeat("x", 3000)} {
		got := g.do(http.MethodGet, "/v1/tickets/"+forged+"/events", "ada")
		g.expect(got, http.StatusNotFound, "no-such-ticket")
		if got.raw != foreign.raw {
			t.Errorf("forged %s, foreign %s", got.raw, foreign.raw)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "get"} {
		got := g.raw(method, path, method+" "+path+" HTTP/1.1\r\nHost: x\r\n\r\n")
		if got.status != http.StatusMethodNotAllowed || got.header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d %v", method, got.status, got.header)
		}
	}
	head := g.do(http.MethodHead, path, "ada")
	if head.status != http.StatusOK || head.header.Get("Content-Type") != "text/event-stream" || head.header.Get("Content-Length") != "" || head.raw != "" {
		t.Errorf("HEAD: %d %v %q", head.status, head.header, head.raw)
	}
	g.waiters(0)
	e.Rev, e.Retired = 2, true
	s.announce(t, e)
	g.until("retired", func() bool { return g.do(http.MethodGet, "/v1/tickets/"+ticket, "ada").status == http.StatusGone })
	g.expect(g.do(http.MethodGet, path, "ada"), http.StatusGone, "retired")
	g.expectStatus(g.do(http.MethodHead, path, "ada"), http.StatusGone)
}

// The last piece of a sale that is retired ends the streams of its tickets.
func TestEvents_EndWithTheSale(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	ada := g.follow(g.attempt(e.ID, "ada").text("ticket"), "ada")
	ada.expectNext("queued")
	rid := s.confirm(t, e, "ada", false).RID
	e.Rev, e.Retired = 2, true
	s.announce(t, e)
	g.until("retired", func() bool { return g.do(http.MethodGet, "/v1/sales/"+e.ID, "").text("state") == "closed" })
	must(t, s.queue.NotifyResults(e.ID, []sale.Result{{RID: rid, Status: sale.StatusConfirmed}}))
	ada.expectEnd()
}

func TestEvents_WhoIsGoneFreesThePlaceLongBeforeTheNextSignOfLife(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t, "-events-alive", "1h")
	g.untilWarm(e.ID)
	ticket := g.attempt(e.ID, "ada").text("ticket")
	var devices []*stream
	for range 4 { // as many as may wait for one ticket
		devices = append(devices, g.follow(ticket, "ada"))
		devices[len(devices)-1].expectNext("queued")
	}
	g.waiters(4)
	busy := g.follow(ticket, "ada").refusal
	g.expect(busy, http.StatusServiceUnavailable, "busy")
	if busy.header.Get("Retry-After") == "" || busy.text("my_tickets") != "/v1/sales/"+e.ID+"/tickets/me" {
		t.Errorf("%s %v", busy.raw, busy.header)
	}
	g.expectStatus(g.do(http.MethodHead, devices[0].target, "ada"), http.StatusServiceUnavailable)
	for _, d := range devices {
		must(t, d.conn.Close())
	}
	g.waiters(0)
	g.follow(ticket, "ada").expectNext("queued")
}

// A client that reads nothing must not be paid for with memory, nor hold its place.
func TestEvents_WhoDoesNotReadIsCutOff(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t, "-events-alive", "10ms")
	g.untilWarm(e.ID)
	ticket := g.attempt(e.ID, "ada").text("ticket")
	dialer := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 1) })
	}}
	conn, err := dialer.Dial("tcp", strings.TrimPrefix(g.url, "http://"))
	must(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "GET /v1/tickets/%s/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", ticket, token(t, "ada", sale.Claims{}))
	must(t, err)
	g.waiters(1)
	reads := g.follow(ticket, "ada")
	reads.expectNext("queued")
	g.waiters(2)
	g.waiters(1)
	if alive := reads.alive.Load(); alive < 10 {
		t.Errorf("%d signs of life for who reads", alive)
	}
	s.confirm(t, e, "ada", true)
	reads.expectNext("confirmed")
}

func TestEvents_ThousandsAreBoundedAndLeaveRoomForAttempts(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	const buyers, places = 300, 1000
	e := s.sell(t, buyers+1)
	g := s.startReady(t, "-ticket-waiters", fmt.Sprint(places), "-max-connections", "4000")
	g.untilWarm(e.ID)
	tickets := make([]string, buyers)
	for i := range tickets {
		g.until("a ticket", func() bool { // Redis may be late on a machine that is busy
			tickets[i] = g.attempt(e.ID, fmt.Sprint("buyer-", i)).text("ticket")
			return tickets[i] != ""
		})
	}
	var streams []*stream
	refused := 0
	for n := range buyers * 5 { // one more than may wait for a ticket
		got := g.follow(tickets[n%buyers], fmt.Sprint("buyer-", n%buyers))
		for got.refusal.text("type") == "/problems/unavailable" { // as above
			got = g.follow(tickets[n%buyers], fmt.Sprint("buyer-", n%buyers))
		}
		if got.answer.StatusCode == http.StatusOK {
			streams = append(streams, got)
			continue
		}
		refused++
		g.expect(got.refusal, http.StatusServiceUnavailable, "busy")
	}
	if len(streams) != places {
		t.Errorf("%d streams, %d refused, places are %d", len(streams), refused, places)
	}
	g.waiters(places)
	g.until("an attempt is served", func() bool { return g.attempt(e.ID, "late").text("ticket") != "" })
	g.until("a read that finds no place is answered at once", func() bool {
		return g.do(http.MethodGet, "/v1/tickets/"+tickets[0]+"?wait=25", "buyer-0").status == http.StatusOK
	})
	for _, st := range streams {
		st.expectNext("queued")
	}
	s.confirm(t, e, "buyer-0", true)
	for n, st := range streams {
		if n%buyers == 0 {
			st.expectNext("confirmed")
		}
	}
	for _, st := range streams {
		must(t, st.conn.Close())
	}
	g.waiters(0)
}

func TestEvents_EndWholeWhenTheGatewayDrains(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 50)
	g, other := s.startReady(t, "-drain", "5s"), s.startReady(t)
	g.untilWarm(e.ID)
	other.untilWarm(e.ID)
	var streams []*stream
	for i := range 20 {
		user := fmt.Sprint("buyer-", i)
		st := g.follow(g.attempt(e.ID, user).text("ticket"), user)
		st.expectNext("queued")
		streams = append(streams, st)
	}
	late := g.attempt(e.ID, "late").text("ticket")
	g.stop()
	for _, st := range streams {
		st.expectEnd()
	}
	select {
	case err := <-g.done:
		t.Fatalf("the streams ended with the gateway, not before: %v", err)
	default:
	}
	// Who comes now is told what there is, and to go on elsewhere.
	ended := g.follow(late, "late")
	known := ended.expectNext("queued")
	ended.expectEnd()
	if !ended.answer.Close {
		t.Error("the connection stays open")
	}
	elsewhere := other.follow(late, "late", header("Last-Event-ID", known.id))
	s.confirm(t, e, "late", true)
	elsewhere.expectNext("confirmed")
}

func TestEvents_EndWithTheToken(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	ticket := g.attempt(e.ID, "ada").text("ticket")
	short, err := auth.Mint([]byte(jwtKey), "shop", "sluice", "ada", sale.Claims{}, time.Now(), time.Second)
	must(t, err)
	ada := g.follow(ticket, "", header("Authorization", "Bearer "+short))
	ada.expectNext("queued")
	ada.expectEnd()
	g.expect(g.follow(ticket, "", header("Authorization", "Bearer "+short)).refusal, http.StatusUnauthorized, "unauthenticated")
}

func TestEvents_LastThroughARebuild(t *testing.T) {
	t.Parallel()
	s, server := newLosableStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t, "-events-alive", "20ms")
	g.untilWarm(e.ID)
	kept, gone := g.attempt(e.ID, "ada"), g.attempt(e.ID, "bob")
	ada, bob := g.follow(kept.text("ticket"), "ada"), g.follow(gone.text("ticket"), "bob")
	ada.expectNext("queued")
	bob.expectNext("queued")
	_, before, err := s.stock.TicketsOf(t.Context(), e.ID, 1, "ada")
	must(t, err)
	must(t, server.Stop())
	must(t, server.Restart(t.Context()))
	e.Epoch, e.Rev, e.Rebuilding = 2, 2, true
	s.announce(t, e)
	g.until("new streams are refused", func() bool {
		got := g.follow(kept.text("ticket"), "ada").refusal
		return got.status == http.StatusServiceUnavailable && got.text("type") == "/problems/unavailable" && got.header.Get("Retry-After") != ""
	})
	must(t, s.queue.NotifyResults(e.ID, []sale.Result{{RID: before[0].RID}})) // it reads now
	seen := ada.alive.Load()
	g.until("signs of life meanwhile", func() bool { return ada.alive.Load() > seen+5 })
	confirmed := *before[0]
	confirmed.Status, confirmed.PayBy = sale.StatusConfirmed, confirmed.AcceptedAt.Add(e.Hold)
	s.rebuild(t, e, confirmed)
	ada.expectNext("confirmed")
	if got := bob.expectNext("rejected"); got.body["reason"] != "not_accepted" {
		t.Errorf("the ticket that was lost: %v", got.body)
	}
	bob.expectEnd()
}

func TestEvents_OverHTTP10AreOneEventLong(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	path := "/v1/tickets/" + g.attempt(e.ID, "ada").text("ticket") + "/events"
	got := g.raw(http.MethodGet, path, "GET "+path+" HTTP/1.0\r\nAuthorization: Bearer "+token(t, "ada", sale.Claims{})+"\r\n\r\n")
	if got.status != http.StatusOK || got.header.Get("Transfer-Encoding") != "" || strings.Count(got.raw, "data: ") != 1 {
		t.Errorf("%d %v %s", got.status, got.header, got.raw)
	}
	g.waiters(0)
}
