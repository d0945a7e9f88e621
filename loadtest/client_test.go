package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"sluice/loadtest/internal/stack"
	"sluice/shared/client"
	"sluice/shared/sale"
)

// requests are what one client sent, and how each was answered.
type requests struct {
	mu  sync.Mutex
	log []string // "METHOD path: status"; status 0 for no answer
}

func (r *requests) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(req)
	status := 0
	if err == nil {
		status = resp.StatusCode
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, fmt.Sprintf("%s %s: %d", req.Method, req.URL.Path, status))
	return resp, err
}

// buyer is a client of one of the crowd, who asks both gateways.
func (s *scene) buyer(i int, polling bool, sent *requests) *client.Client {
	s.t.Helper()
	c, err := client.New(client.Config{
		BaseURLs: []string{s.gateway(0), s.gateway(1)}, Token: s.tokens[i], Polling: polling,
		Timeout: 5 * time.Second, HTTP: &http.Client{Transport: sent},
	})
	s.must(err)
	return c
}

func (s *scene) refused(err error, name client.Name) {
	s.t.Helper()
	var r *client.Refusal
	if !errors.As(err, &r) || r.Name != name || errors.Is(err, client.ErrUnknown) {
		s.t.Errorf("error %v, want refusal %s", err, name)
	}
}

// The first gateway dies between reserving and handing over the first attempt: its
// buyer has no answer, and finds the ticket at the other.
func TestClient_BuysThroughGatewaysThatDie(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	s := openScene(ctx, t, 2, 3, stack.Config{
		Gateways: 2, Workers: 1, FirstEnv: map[string][]string{"gateway-0": {"SLUICE_FAILPOINTS=gateway.reserved=kill@1"}},
	})
	var sent requests
	ann := s.buyer(0, false, &sent)
	won, err := ann.Buy(ctx, s.saleID, "")
	s.must(err)
	if want := []string{"POST /v1/sales/phone/orders: 0", "GET /v1/sales/phone/tickets/me: 200"}; !slices.Equal(sent.log, want) {
		t.Errorf("requests %q, want %q", sent.log, want)
	}
	won, err = ann.Await(ctx, won)
	s.must(err)
	if won.Status != sale.StatusConfirmed || won.OrderID == "" || won.PayBy.IsZero() || won.Amount == nil || *won.Amount != 100 {
		t.Errorf("ticket %+v", won)
	}
	again, err := ann.Buy(ctx, s.saleID, "")
	s.must(err)
	if !again.Replay || again.Ticket != won.Ticket {
		t.Errorf("a second click got %+v", again)
	}
	_, err = ann.Buy(ctx, s.saleID, "another unit")
	s.refused(err, client.LimitReached)
	s.sellOut(ctx)
	s.rest(ctx, nil, healPatience)
}

// sellOut lets bob buy the last unit, and cyn come too late.
func (s *scene) sellOut(ctx context.Context) {
	s.t.Helper()
	var sent requests
	bob, cyn := s.buyer(1, true, &sent), s.buyer(2, false, &sent)
	ticket, err := bob.Buy(ctx, s.saleID, "")
	s.must(err)
	if ticket, err = bob.Await(ctx, ticket); err != nil || ticket.Status != sale.StatusConfirmed {
		s.t.Errorf("bob's ticket %+v, %v", ticket, err)
	}
	mine, err := bob.MyTickets(ctx, s.saleID)
	if err != nil || len(mine) != 1 || mine[0].Ticket != ticket.Ticket {
		s.t.Errorf("bob's tickets %+v, %v", mine, err)
	}
	_, err = cyn.Buy(ctx, s.saleID, "")
	s.refused(err, client.SoldOut)
	_, err = cyn.Await(ctx, client.Ticket{Ticket: ticket.Ticket})
	s.refused(err, client.NoSuchTicket)
	_, err = cyn.Sale(ctx, "no-such-sale")
	s.refused(err, client.NoSuchSale)
	all, err := cyn.Sales(ctx)
	if err != nil || len(all) != 1 || all[0].State != sale.StateSoldOut || all[0].Availability != sale.None || all[0].Price != 100 {
		s.t.Errorf("sales %+v, %v", all, err)
	}
}
