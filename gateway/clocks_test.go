package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"sluice/gateway/internal/tickets"
	"sluice/shared/auth"
	"sluice/shared/sale"
)

// wrongClocks are how far clocks of gateways are off.
var wrongClocks = []time.Duration{5 * time.Minute, -5 * time.Minute}

// fleet starts a gateway a clock.
func (s *stores) fleet(t *testing.T, clocks ...time.Duration) []*running {
	t.Helper()
	gateways := make([]*running, len(clocks))
	for i, by := range clocks {
		off := *s
		off.ahead = by
		gateways[i] = off.startReady(t, "-redis-timeout", "5s") // a busy machine is none of these tests
	}
	return gateways
}

// moment is between two readings of the clock that Redis has, too.
type moment struct{ from, to time.Time }

func (m moment) String() string {
	return m.from.Format("05.000") + "-" + m.to.Format("05.000")
}

// within runs what happens in a moment. Redis cuts its time to milliseconds.
func within(what func()) moment {
	m := moment{from: time.Now().Truncate(time.Millisecond)}
	what()
	m.to = time.Now().Add(time.Millisecond)
	return m
}

func TestClocks_GatewaysThatAreOffOpenAndCloseNothingEarlyOrLate(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	gateways := s.fleet(t, append(wrongClocks, 0)...)
	for ahead := 3 * time.Second; !s.sellInAWindow(t, gateways, ahead); ahead *= 2 {
		if ahead > time.Minute {
			t.Fatal("no window is so far ahead that every gateway has the sale before it opens")
		}
	}
}

// sellInAWindow opens a sale for a second, and has all gateways attempted at; false when
// one had the sale too late to refuse anybody as too early: the machine was busy.
func (s *stores) sellInAWindow(t *testing.T, gateways []*running, ahead time.Duration) bool {
	t.Helper()
	opens := time.Now().UTC().Truncate(time.Millisecond).Add(ahead)
	closes := opens.Add(time.Second)
	e := s.sell(t, 1_000_000, func(e *sale.Sale) { e.OpensAt, e.ClosesAt = opens, closes })
	var missed atomic.Bool
	var wait sync.WaitGroup
	for i, g := range gateways {
		g.untilWarm(e.ID)
		wait.Go(func() {
			if !g.buysOnlyWithin(e.ID, fmt.Sprint("user-", i), opens, closes) {
				missed.Store(true)
			}
		})
	}
	wait.Wait()
	return !missed.Load()
}

// buysOnlyWithin attempts from before the window to after it. That an attempt was
// accepted has to have been possible in the moment that it took, and so for refusals. It
// reports whether there were attempts before the window and in it.
func (g *running) buysOnlyWithin(saleID, user string, opens, closes time.Time) bool {
	var early, accepted, late int
	for n := 0; late < 3 && !g.t.Failed(); n++ {
		time.Sleep(2 * time.Millisecond) // there are other tests
		var got answer
		m := within(func() { got = g.attempt(saleID, fmt.Sprint(user, "-", n)) })
		switch {
		case got.status == http.StatusAccepted:
			accepted++
			if m.to.Before(opens) || !m.from.Before(closes) {
				g.t.Errorf("accepted in %v, the window is %v", m, moment{opens, closes})
			}
			if at, ok := parseTime(got.text("created_at")); !ok || at.Before(m.from) || at.After(m.to) {
				g.t.Errorf("accepted at %s, the moment was %v", got.text("created_at"), m)
			}
		case got.text("type") == "/problems/not-open":
			early++
			g.isToOpenAt(got, m, opens)
		case got.text("type") == "/problems/closed":
			late++
			if m.to.Before(closes) {
				g.t.Errorf("closed in %v, the window is %v", m, moment{opens, closes})
			}
		case got.status == http.StatusServiceUnavailable: // a store was too slow
		default:
			g.t.Errorf("answers %d %s", got.status, got.raw)
		}
	}
	return early > 0 && accepted > 0
}

// isToOpenAt holds a refusal as too early against the clock.
func (g *running) isToOpenAt(got answer, m moment, opens time.Time) {
	if !m.from.Before(opens) {
		g.t.Errorf("not open in %v, it opens at %s", m, opens.Format("05.000"))
	}
	if at, ok := parseTime(got.text("opens_at")); !ok || !at.Equal(opens) {
		g.t.Errorf("opens_at is %s, want %v", got.text("opens_at"), opens)
	}
	retry, err := strconv.Atoi(got.header.Get("Retry-After"))
	if least, most := seconds(opens.Sub(m.to)-clockDoubt), seconds(opens.Sub(m.from)+clockDoubt); err != nil || retry < least || retry > most {
		g.t.Errorf("Retry-After %q in %v, want %d to %d", got.header.Get("Retry-After"), m, least, most)
	}
}

// seconds rounds up, to at least 1.
func seconds(d time.Duration) int { return max(1, int((d+time.Second-1)/time.Second)) }

func parseTime(text string) (time.Time, bool) {
	at, err := time.Parse(time.RFC3339Nano, text)
	return at, err == nil
}

func TestClocks_TokensCountByRedisTime(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 100)
	old := s.sell(t, 100, func(e *sale.Sale) { e.Eligibility.MinAccountAge = time.Hour })
	bearer := func(minted, ttl time.Duration) func(*http.Request) {
		jwt, err := auth.Mint([]byte(jwtKey), "shop", "sluice", "ada", sale.Claims{}, time.Now().Add(minted), ttl)
		must(t, err)
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+jwt) }
	}
	for i, g := range s.fleet(t, wrongClocks...) {
		g.untilWarm(e.ID)
		g.untilWarm(old.ID)
		for name, tc := range map[string]struct {
			token    func(*http.Request)
			believed bool
		}{
			"fresh, for a minute":    {bearer(0, time.Minute), true},
			"expires in two minutes": {bearer(-time.Hour, 62*time.Minute), true},
			"expired ten s ago":      {bearer(-time.Hour, time.Hour-10*time.Second), false},
			"expired two min ago":    {bearer(-time.Hour, 58*time.Minute), false},
		} {
			for _, got := range []answer{g.do(http.MethodGet, "/v1/sales/"+e.ID+"/tickets/me", "", tc.token), g.attempt(e.ID, "", tc.token)} {
				if believed := got.status != http.StatusUnauthorized; believed != tc.believed {
					t.Errorf("clock %v, token %s: %d %s", wrongClocks[i], name, got.status, got.raw)
				}
			}
		}
		for age, status := range map[time.Duration]int{57 * time.Minute: http.StatusForbidden, 63 * time.Minute: http.StatusAccepted} {
			got := g.attempt(old.ID, "", claims(t, fmt.Sprint("user-", i), sale.Claims{AccountCreatedAt: time.Now().Add(-age)}))
			if got.status != status {
				t.Errorf("clock %v, account of %v: %d %s", wrongClocks[i], age, got.status, got.raw)
			}
		}
	}
}

func TestClocks_TicketsAndCountdownsTellRedisTime(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 100)
	signer, err := auth.NewTicketSigner([]byte(jwtKey))
	must(t, err)
	for i, g := range s.fleet(t, wrongClocks...) {
		g.untilWarm(e.ID)
		user := fmt.Sprint("user-", i)
		var bought, described, read answer
		drawn := within(func() { bought = g.attempt(e.ID, user) })
		g.expectStatus(bought, http.StatusAccepted)
		for m, got := range map[moment]*answer{
			within(func() { described = g.do(http.MethodGet, "/v1/sales/"+e.ID, "") }):                 &described,
			within(func() { read = g.do(http.MethodGet, "/v1/tickets/"+bought.text("ticket"), user) }): &read,
		} {
			if at, ok := parseTime(got.text("server_time")); !ok || at.Before(m.from.Add(-clockDoubt)) || at.After(m.to.Add(clockDoubt)) {
				t.Errorf("clock %v: server_time %s in %v", wrongClocks[i], got.text("server_time"), m)
			}
		}
		ref, err := signer.Open(bought.text("ticket"), user)
		must(t, err)
		if at := tickets.DrawnAt(ref.RID); at.Before(drawn.from.Add(-clockDoubt)) || at.After(drawn.to.Add(clockDoubt)) {
			t.Errorf("clock %v: the rid says %v, drawn in %v", wrongClocks[i], at, drawn)
		}
		for age, status := range map[time.Duration]int{0: http.StatusServiceUnavailable, 4 * time.Minute: http.StatusGone} {
			ticket := signer.Sign("forgotten-sale", user, 1, ridOf(time.Now().Add(-age)))
			if got := g.do(http.MethodGet, "/v1/tickets/"+ticket, user); got.status != status {
				t.Errorf("clock %v, a ticket of %v of a sale not known here: %d %s", wrongClocks[i], age, got.status, got.raw)
			}
		}
	}
}

// clockDoubt is by how much Redis time may be misjudged on a busy machine: half of the
// round trip.
const clockDoubt = time.Second

// ridOf is a UUIDv7 of a moment.
func ridOf(at time.Time) string {
	ms := fmt.Sprintf("%012x", at.UnixMilli())
	return uuid.MustParse(ms[:8] + "-" + ms[8:] + "-7000-8000-000000000000").String()
}

func TestClocks_ReadyByRedisTime(t *testing.T) {
	t.Parallel()
	s := connectOwnStores(t)
	now := time.Now().UTC()
	over := newSale(5, func(e *sale.Sale) { e.ClosesAt = now.Add(-2 * time.Minute) })
	s.announce(t, over)
	for _, g := range s.fleet(t, wrongClocks...) { // though one of them has it as open for three minutes
		g.stop()
	}
	due := newSale(5, func(e *sale.Sale) { e.OpensAt, e.ClosesAt = now.Add(2*time.Minute), now.Add(3*time.Minute) })
	s.announce(t, due)
	for _, by := range wrongClocks { // over by one clock, far away by the other
		off := *s
		off.ahead = by
		g := off.start(t, "-warm-horizon", "4m")
		g.until("waits for "+due.ID, func() bool {
			code, body := g.opsGet("/readyz?verbose")
			return code == http.StatusServiceUnavailable && contains(body, `"sales","state":"failing"`, due.ID)
		})
	}
}

func contains(text string, parts ...string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}
