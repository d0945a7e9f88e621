package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/loadtest/internal/record"
	"sluice/loadtest/internal/stack"
	"sluice/shared/client"
	"sluice/shared/sale"
)

// followed is one buyer's stream of ticket events.
type followed struct {
	tickets chan client.Ticket // closed at its end
	id      string             // of the last event; there once tickets is closed
}

// followTicket reads a ticket's events until the stream ends, from the one after known.
func (s *scene) followTicket(ctx context.Context, gateway, buyer int, ticket, known string) *followed {
	s.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.gateway(gateway)+"/v1/tickets/"+ticket+"/events", nil)
	s.must(err)
	req.Header.Set("Authorization", "Bearer "+s.tokens[buyer])
	if known != "" {
		req.Header.Set("Last-Event-ID", known)
	}
	res, err := http.DefaultClient.Do(req)
	s.must(err)
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		s.t.Fatalf("events: %d %v", res.StatusCode, res.Header)
	}
	f := &followed{tickets: make(chan client.Ticket, 16)}
	go func() {
		defer close(f.tickets)
		defer func() { _ = res.Body.Close() }()
		lines := bufio.NewScanner(res.Body)
		for lines.Scan() {
			field, value, _ := strings.Cut(lines.Text(), ": ")
			switch field {
			case "id":
				f.id = value
			case "data":
				var t client.Ticket
				if err := json.Unmarshal([]byte(value), &t); err != nil {
					s.t.Errorf("event %s: %v", value, err)
				}
				f.tickets <- t
			}
		}
	}()
	return f
}

// untilStatus reads events until one shows the status; they never go back.
func (s *scene) untilStatus(f *followed, want sale.Status) client.Ticket {
	s.t.Helper()
	last := sale.StatusQueued
	for {
		select {
		case t, ok := <-f.tickets:
			switch {
			case !ok:
				s.t.Fatalf("the stream ends at %s, want %s", last, want)
			case t.Status != last && !last.CanBecome(t.Status):
				s.t.Fatalf("%s after %s", t.Status, last)
			case t.Status == want:
				return t
			}
			last = t.Status
		case <-time.After(testPatience):
			s.t.Fatalf("no event after %s, want %s", last, want)
		}
	}
}

// Two buyers follow their tickets from the order to the payment, over gateways of which
// one is stopped on the way.
func TestFollow_TwoBuyersAreToldOfTheirOrdersAndPayments(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	s := openScene(ctx, t, 2, 2, stack.Config{Gateways: 2, Workers: 1})
	var winners record.Winners
	if n := s.attackFrom(ctx, &winners, 0, 2, 1000); n != [2]int64{1, 1} {
		t.Fatalf("%v accepted of 2 units", n)
	}
	won := winners.All()
	ada, bob := s.followTicket(ctx, 0, won[0].Buyer, won[0].Ticket, ""), s.followTicket(ctx, 1, won[1].Buyer, won[1].Ticket, "")
	for i, f := range []*followed{ada, bob} {
		got := s.untilStatus(f, sale.StatusConfirmed)
		if got.Ticket != won[i].Ticket || got.OrderID != won[i].RID || got.PayBy.IsZero() {
			t.Errorf("ticket %d: %+v", i, got)
		}
	}
	s.must(s.stack.Kill(ctx, "gateway", 0)) // ada's
	for range ada.tickets {                 // to the end
	}
	s.report(ctx, sale.PaymentSucceeded, won)
	s.untilStatus(bob, sale.StatusPaid)
	if _, more := <-bob.tickets; more {
		t.Error("the stream goes on after the ticket is paid")
	}
	again := s.followTicket(ctx, 1, won[0].Buyer, won[0].Ticket, ada.id)
	s.untilStatus(again, sale.StatusPaid)
	s.wantNewest(ctx, won, sale.StatusPaid)
	s.rest(ctx, winners.Seen(), time.Minute)
}
