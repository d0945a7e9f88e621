package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/shared/pricing"
)

func TestTurns_WhoWaitsTooLongIsToldSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(1, 10)
		done, free := turns.enter(t.Context(), caller{userID: "ann"})
		if !free {
			t.Fatal("the first waits")
		}
		start := time.Now()
		if _, free := turns.enter(t.Context(), caller{userID: "bob"}); free || time.Since(start) != turnWait {
			t.Errorf("the second is in: %v after %v", free, time.Since(start))
		}
		var waiting sync.WaitGroup
		waiting.Go(func() {
			done, free := turns.enter(t.Context(), caller{userID: "bob"})
			if !free {
				t.Error("the turn is not passed on")
			}
			done()
		})
		synctest.Wait()
		done()
		waiting.Wait()
		if len(turns.of) != 0 || turns.all != 0 || len(turns.free) != 0 {
			t.Errorf("somebody is left: %+v", turns)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		done, _ = turns.enter(t.Context(), caller{userID: "ann"})
		start = time.Now()
		if _, free := turns.enter(gone, caller{userID: "bob"}); free || time.Since(start) != 0 {
			t.Error("who has gone still waits")
		}
		done()
	})
}

func TestTurns_NobodyHasAllPlacesInTheLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(3*mostPlaces+buyersShare, 3*mostPlaces+buyersShare)
		var dones []func()
		in := func(who caller) bool {
			start := time.Now()
			done, free := turns.enter(t.Context(), who)
			if free {
				dones = append(dones, done)
			} else if time.Since(start) != 0 {
				t.Errorf("%+v is refused after %v", who, time.Since(start))
			}
			return free
		}
		enter := func(who caller, n int) {
			for i := range n {
				if !in(who) {
					t.Errorf("%+v has %d places only, want %d", who, i, n)
				}
			}
			if in(who) {
				t.Errorf("%+v has more than %d places", who, n)
			}
		}
		enter(caller{userID: "acme"}, mostPlaces)
		enter(caller{merchant: "acme"}, mostPlaces) // half full now
		enter(caller{userID: "bob"}, buyersShare)
		enter(caller{merchant: "shop"}, mostPlaces)
		if in(caller{userID: "cid"}) {
			t.Error("the line is longer than it may be")
		}
		for _, done := range dones {
			done()
		}
		enter(caller{userID: "bob"}, mostPlaces)
	})
}

// TestQuotes_AnIdleServerPricesAllThatABuyerAsksForAtOnce: they are in line together, and
// none is told that too many are.
func TestQuotes_AnIdleServerPricesAllThatABuyerAsksForAtOnce(t *testing.T) {
	t.Parallel()
	turns := newTurns(1, cartLine)
	a := &api{Backing: Backing{Now: func() time.Time { return now }}, smallCarts: turns}
	ann := caller{userID: "ann"}
	first, free := turns.enter(t.Context(), caller{merchant: "acme"})
	if !free {
		t.Fatal("the line is empty, and nobody gets in")
	}
	var asked sync.WaitGroup
	for range 8 {
		asked.Go(func() {
			if _, err := a.price(t.Context(), ann, pricing.Cart{Currency: "CNY"}, false); err != nil {
				t.Error(err)
			}
		})
	}
	for turns.inLine(ann) < 8 && !t.Failed() {
		runtime.Gosched()
	}
	first()
	asked.Wait()
}

func (t *turns) inLine(who caller) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of[who]
}

// TestQuotes_SlowSendersOfBigCartsKeepNobodyElseOut has bodies that do not end from more
// buyers than carts are held of, until all of them are cut.
func TestQuotes_SlowSendersOfBigCartsKeepNobodyElseOut(t *testing.T) {
	t.Parallel()
	url := serveShop(t, &shop{})
	big := strings.Repeat(" ", smallCart) + smallQuote + `,"coupons":[]}`
	slow := make(chan answerLine)
	const senders, each = bigCartsHeld, 2
	for i := range senders * each {
		conn := begin(t, url, "Bearer "+tokenOf(t, fmt.Sprintf("slow-%d", i%senders), now))
		go func() { slow <- readStatus(conn) }()
	}
	bob := "Bearer " + tokenOf(t, "bob", now)
	for cut := 0; cut < senders*each; {
		select {
		case line := <-slow:
			if line.err != nil || !strings.Contains(line.text, " 400 ") {
				t.Errorf("a body that does not end: %q, %v", line.text, line.err)
			}
			cut++
		default:
			if a := doWith(t, "POST", url+"/v1/quotes", big, bob); a.status != 200 {
				t.Fatalf("another's big cart: %d %v", a.status, a.body)
			}
		}
	}
}

// TestQuotes_ABuyerHasFewPlacesForBigCartsThatAreRead fills them with bodies that do not end.
func TestQuotes_ABuyerHasFewPlacesForBigCartsThatAreRead(t *testing.T) {
	t.Parallel()
	url := serveShop(t, &shop{})
	ann := "Bearer " + tokenOf(t, "ann", now)
	slow := make(chan answerLine)
	for range mostPlaces + 1 {
		conn := begin(t, url, ann)
		go func() { slow <- readStatus(conn) }()
	}
	if first := <-slow; first.err != nil || !strings.Contains(first.text, " 503 ") {
		t.Errorf("the one too many: %q, %v", first.text, first.err)
	}
	if a := doWith(t, "POST", url+"/v1/quotes", smallQuote+`,"coupons":[]}`, ann); a.status != 200 {
		t.Errorf("her small one: %d %v", a.status, a.body)
	}
	for range mostPlaces {
		<-slow
	}
}

// begin sends the beginning of a big cart, and not the rest.
func begin(t *testing.T, url, authorization string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := fmt.Fprintf(conn, "POST /v1/quotes HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\nContent-Length: %d\r\n\r\n%s", authorization, maxCart, strings.Repeat(" ", smallCart+1)); err != nil {
		t.Fatal(err)
	}
	return conn
}

type answerLine struct {
	text string
	err  error
}

func readStatus(conn net.Conn) answerLine {
	text, err := bufio.NewReader(conn).ReadString('\n')
	return answerLine{text, err}
}
