package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"sluice/shared/devstack"
	"sluice/shared/redisstock"
	"sluice/shared/sale"
)

// newLosableStores are stores of this test alone, with the Redis to be lost.
func newLosableStores(t *testing.T) (*stores, *devstack.Server) {
	t.Helper()
	redis, err := devstack.StartRedis(t.Context(), devstack.Options{})
	must(t, err)
	t.Cleanup(func() { _ = redis.Close() })
	nats, err := devstack.StartNATS(t.Context(), devstack.Options{})
	must(t, err)
	t.Cleanup(func() { _ = nats.Close() })
	return connectStores(t, redis.URL(), nats.URL()), redis
}

// rebuild makes the sale live at the next epoch with these tickets, as a worker does.
func (s *stores) rebuild(t *testing.T, e sale.Entry, tickets ...sale.Ticket) sale.Entry {
	t.Helper()
	s.flip(t, e, tickets...)
	e.Rev, e.Rebuilding = e.Rev+1, false
	s.announce(t, e)
	return e
}

// flip makes it live in Redis, and nobody is told.
func (s *stores) flip(t *testing.T, e sale.Entry, tickets ...sale.Ticket) {
	t.Helper()
	loaded := make([]redisstock.LoadTicket, len(tickets))
	for i, ticket := range tickets {
		loaded[i] = redisstock.LoadTicket{Ticket: ticket, HoldsSlot: true}
	}
	n := int64(len(tickets))
	must(t, s.stock.Fence(t.Context(), e.ID, e.Epoch, "rebuild"))
	must(t, s.stock.LoadTickets(t.Context(), e.ID, e.Epoch, "rebuild", loaded))
	must(t, s.stock.Flip(t.Context(), "rebuild", redisstock.Live{Entry: e, Total: e.Total, Stock: e.Total - n,
		Rank: n, Accepted: n, Served: n, Unpaid: n}))
}

// A load that ends here is begun again if Redis is lost once more, and may order what
// this epoch does not know.
func TestLostRedis_TicketsWaitForTheEndOfTheRebuild(t *testing.T) {
	t.Parallel()
	s, _ := newLosableStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	gone := g.attempt(e.ID, "bob")
	g.expectStatus(gone, http.StatusAccepted)
	e.Epoch, e.Rev, e.Rebuilding = 2, 2, true
	s.announce(t, e)
	g.until("the gateway knows of the rebuild", func() bool {
		_, metrics := g.opsGet("/metrics")
		return !strings.Contains(metrics, "sluice_sales_not_live 0")
	})
	s.flip(t, e)
	for _, path := range []string{gone.header.Get("Location"), "/v1/sales/" + e.ID + "/tickets/me"} {
		g.expect(g.do(http.MethodGet, path, "bob"), http.StatusServiceUnavailable, "unavailable")
	}
}

func TestLostRedis_IsUnavailableUntilTheNextEpochAndTicketsAreAsBefore(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*testing.T, *devstack.Server){
		"restarted with its data": func(t *testing.T, server *devstack.Server) {
			must(t, server.Stop())
			must(t, server.Restart(t.Context()))
		},
		"emptied": func(t *testing.T, server *devstack.Server) {
			options, err := redis.ParseURL(server.URL())
			must(t, err)
			raw := redis.NewClient(options)
			defer raw.Close()
			must(t, raw.FlushAll(t.Context()).Err())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, server := newLosableStores(t)
			e := s.sell(t, 5)
			g := s.startReady(t)
			g.untilWarm(e.ID)
			kept, gone := g.attempt(e.ID, "ada"), g.attempt(e.ID, "bob")
			g.expectStatus(kept, http.StatusAccepted)
			_, before, err := s.stock.TicketsOf(t.Context(), e.ID, 1, "ada")
			must(t, err)
			lose(t, server)
			unavailable := func() {
				t.Helper()
				for _, path := range []string{kept.header.Get("Location"), "/v1/sales/" + e.ID + "/tickets/me"} {
					g.expect(g.do(http.MethodGet, path, "ada"), http.StatusServiceUnavailable, "unavailable")
				}
				g.expect(g.attempt(e.ID, "cy"), http.StatusServiceUnavailable, "unavailable")
			}
			unavailable()
			if code, _ := g.opsGet("/readyz"); code != http.StatusOK {
				t.Errorf("the gateway is no longer ready: %d", code)
			}
			g.until("the sale counts as not live", func() bool {
				_, metrics := g.opsGet("/metrics")
				return !strings.Contains(metrics, "sluice_sales_not_live 0")
			})
			e.Epoch, e.Rev, e.Rebuilding = 2, 2, true
			s.announce(t, e)
			unavailable()
			confirmed := *before[0]
			confirmed.Status, confirmed.PayBy = sale.StatusConfirmed, confirmed.AcceptedAt.Add(e.Hold)
			e = s.rebuild(t, e, confirmed)
			g.untilWarm(e.ID)
			if got := g.do(http.MethodGet, kept.header.Get("Location"), "ada"); got.text("status") != "confirmed" {
				t.Errorf("the ticket that was ordered: %s", got.raw)
			}
			if got := g.do(http.MethodGet, gone.header.Get("Location"), "bob"); got.text("status") != "rejected" || got.text("reason") != "not_accepted" {
				t.Errorf("the ticket that was lost: %s", got.raw)
			}
			if got := g.do(http.MethodGet, "/v1/sales/"+e.ID+"/tickets/me", "bob"); got.status != http.StatusOK || strings.Contains(got.raw, "queued") {
				t.Errorf("bob's tickets: %s", got.raw)
			}
			g.expectStatus(g.attempt(e.ID, "bob"), http.StatusAccepted)
			again := g.attempt(e.ID, "ada")
			g.expectStatus(again, http.StatusOK)
			if again.text("ticket") != kept.text("ticket") {
				t.Errorf("ada's repeated attempt: %s", again.raw)
			}
		})
	}
}

func TestReady_WithASaleInRebuildThatHealsLater(t *testing.T) {
	t.Parallel()
	s, _ := newLosableStores(t)
	e := newSale(5)
	e.Epoch, e.Rev, e.Rebuilding = 2, 2, true
	s.announce(t, e)
	other := s.sell(t, 5)
	g := s.startReady(t)
	g.expect(g.attempt(e.ID, "ada"), http.StatusServiceUnavailable, "unavailable")
	g.untilWarm(other.ID)
	g.expectStatus(g.attempt(other.ID, "ada"), http.StatusAccepted)
	if code, _ := g.opsGet("/readyz/sales/" + e.ID); code == http.StatusOK {
		t.Error("a sale in rebuild is ready to be attempted")
	}
	now := time.Now()
	bought := sale.Ticket{Status: sale.StatusConfirmed, UpdatedAt: now, PayBy: now.Add(e.Hold),
		Reservation: sale.Reservation{RID: uuid.Must(uuid.NewV7()).String(), UserID: "ada", Slot: 1, Rank: 1, AcceptedAt: now}}
	s.rebuild(t, e, bought)
	g.untilWarm(e.ID)
	g.expectStatus(g.attempt(e.ID, "ada"), http.StatusOK)
	g.expectStatus(g.attempt(e.ID, "bob"), http.StatusAccepted)
}
