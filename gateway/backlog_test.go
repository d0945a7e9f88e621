package main

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/shared/failpoint"
	"sluice/shared/sale"
)

// backlogOf reads a metric of a sale's backlog; NaN when it is absent.
func (g *running) backlogOf(saleID, name string) float64 {
	g.t.Helper()
	_, text := g.opsGet("/metrics")
	found := regexp.MustCompile(`(?m)^sluice_backlog_` + name + `\{sale="` + saleID + `"\} (\S+)$`).FindStringSubmatch(text)
	if found == nil {
		return math.NaN()
	}
	value, err := strconv.ParseFloat(found[1], 64)
	must(g.t, err)
	return value
}

// accept has an attempt accepted and returns when that was.
func (g *running) accept(saleID, user string, status int) (when span) {
	g.t.Helper()
	when.from = time.Now()
	g.expectStatus(g.attempt(saleID, user), status)
	when.to = time.Now()
	return when
}

// span is when something happened, by the clock of the test.
type span struct{ from, to time.Time }

// has allows a second for what is between clocks.
func (s span) has(unix float64) bool {
	at := time.UnixMilli(int64(unix * 1000))
	return at.After(s.from.Add(-time.Second)) && at.Before(s.to.Add(time.Second))
}

// untilBacklog waits until n reservations of the sale wait, the oldest since a moment.
func (g *running) untilBacklog(saleID string, n int, since span) {
	g.t.Helper()
	g.until(fmt.Sprintf("%d of %s wait, since %v", n, saleID, since.from), func() bool {
		return g.backlogOf(saleID, "waiting") == float64(n) && since.has(g.backlogOf(saleID, "oldest_timestamp_seconds"))
	})
}

// untilServed waits until nothing of the sale waits, and no oldest is told.
func (g *running) untilServed(saleID string) {
	g.t.Helper()
	g.until("nothing of "+saleID+" waits", func() bool {
		return g.backlogOf(saleID, "waiting") == 0 && math.IsNaN(g.backlogOf(saleID, "oldest_timestamp_seconds"))
	})
}

// serve does what a worker does with everything that waits of a sale: it settles the
// tickets, and acknowledges.
func (s *stores) serve(t *testing.T, e sale.Entry, handOvers int) {
	t.Helper()
	consumer, err := s.queue.Consumer(t.Context(), e.ID, time.Minute)
	must(t, err)
	deliveries, err := consumer.Fetch(handOvers, patience)
	must(t, err)
	for _, d := range deliveries {
		settlements := make([]sale.Settlement, len(d.HandOver.Reservations))
		for i, r := range d.HandOver.Reservations {
			settlements[i] = sale.Settlement{RID: r.RID, Status: sale.StatusConfirmed}
		}
		_, _, err := s.stock.Settle(t.Context(), e.ID, e.Epoch, settlements)
		must(t, err)
		must(t, d.Ack())
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	must(t, s.queue.Flush(ctx))
}

func TestBacklog_IsToldByAGatewayWithoutAnyWorker(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e, other := s.sell(t, 50), s.sell(t, 50)
	g := s.startReady(t, "-backlog-promise", "20s", "-refresh", "50ms")
	g.untilWarm(e.ID)
	g.untilServed(e.ID)
	first := g.accept(e.ID, "ada", http.StatusAccepted)
	g.accept(e.ID, "bob", http.StatusAccepted)
	g.accept(e.ID, "cid", http.StatusAccepted)
	g.untilBacklog(e.ID, 3, first)
	g.until("nothing is served", func() bool {
		return g.backlogOf(e.ID, "drain_rate") == 0 && math.IsInf(g.backlogOf(e.ID, "drain_seconds"), 1)
	})
	g.untilServed(other.ID)
	if _, text := g.opsGet("/metrics"); !strings.Contains(text, "\nsluice_backlog_promise_seconds 20\n") {
		t.Error("the promise is not told")
	}
	s.serve(t, e, 3)
	g.untilServed(e.ID)
	g.until("what was served is measured", func() bool { return g.backlogOf(e.ID, "drain_rate") > 0 && g.backlogOf(e.ID, "drain_seconds") == 0 })
	g.untilBacklog(e.ID, 1, g.accept(e.ID, "dan", http.StatusAccepted))
	retired := e
	retired.Rev++
	retired.Retired = true
	s.announce(t, retired)
	g.until("nothing is told of a retired sale", func() bool {
		_, text := g.opsGet("/metrics")
		return !strings.Contains(text, e.ID)
	})
	g.untilServed(other.ID)
}

func TestBacklog_CountsWhatIsInHandoffAlone(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	s.env = map[string]string{failpoint.Variable: "gateway.reserved=error"}
	e := s.sell(t, 5)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	lost := g.accept(e.ID, "ada", http.StatusServiceUnavailable)
	if last, err := s.queue.LastSequence(t.Context(), e.ID); err != nil || last != 0 {
		t.Fatalf("the stream has hand-over %d, error %v", last, err)
	}
	g.untilBacklog(e.ID, 1, lost)
}

func TestBacklog_StaysAsLastKnownWhileAStoreIsAway(t *testing.T) {
	t.Parallel()
	redis, nats := startOwn(t)
	s := connectStores(t, redis.URL(), nats.URL())
	e := s.sell(t, 5)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	accepted := g.accept(e.ID, "ada", http.StatusAccepted)
	g.untilBacklog(e.ID, 1, accepted)
	failures := func() float64 {
		_, text := g.opsGet("/metrics")
		found := regexp.MustCompile(`(?m)^sluice_backlog_read_failures_total (\S+)$`).FindStringSubmatch(text)
		n, err := strconv.ParseFloat(found[1], 64)
		must(t, err)
		return n
	}
	must(t, nats.Kill())
	before := failures()
	g.until("the stream is asked in vain", func() bool { return failures() > before })
	g.untilBacklog(e.ID, 1, accepted)
	must(t, redis.Kill())
	before = failures()
	g.until("Redis is asked in vain", func() bool { return failures() > before+1 })
	g.untilBacklog(e.ID, 1, accepted)
}
