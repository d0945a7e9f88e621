package attack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/valyala/fasthttp"
	"sluice/shared/sale"
)

// ErrNoOutcome says that a ticket had no outcome when the time was up.
var ErrNoOutcome = errors.New("ticket has no outcome yet")

// pollAgain is how long to wait after a poll that could not be answered.
const pollAgain = time.Second

// Buyers read tickets as buyers do, over connections apart from the attack's.
type Buyers struct {
	client  *fasthttp.Client
	timeout time.Duration
}

// NewBuyers makes buyers that share that many connections to each gateway.
func NewBuyers(connections int, timeout time.Duration) *Buyers {
	return &Buyers{client: newClient(connections, timeout), timeout: timeout}
}

// Close drops the idle connections.
func (b *Buyers) Close() { b.client.CloseIdleConnections() }

// AwaitOutcome polls a ticket as told by each answer until it is no longer
// queued. seen is called with every status read and how long the answer took.
// It returns ErrNoOutcome, wrapped, when ctx ends first.
func (b *Buyers) AwaitOutcome(ctx context.Context, gateway, token string, t TicketBody, seen func(sale.Status, time.Duration)) error {
	pause := t.PollAfter()
	var last error
	for t.Status == sale.StatusQueued {
		if !wait(ctx, pause) {
			return fmt.Errorf("cannot await ticket %s: %w", t.Ticket, errors.Join(ErrNoOutcome, last))
		}
		asked := time.Now()
		read, err := b.Ticket(gateway, token, t.Ticket)
		if err != nil {
			last, pause = err, pollAgain
			continue
		}
		t.Status, pause = read.Status, read.PollAfter()
		seen(read.Status, time.Since(asked))
	}
	return nil
}

// Ticket reads one ticket.
func (b *Buyers) Ticket(gateway, token, ticket string) (TicketBody, error) {
	var t TicketBody
	err := b.get(gateway+"/v1/tickets/"+ticket, token, &t)
	return t, err
}

// MyTickets reads the buyer's tickets of a sale, newest first.
func (b *Buyers) MyTickets(gateway, token, saleID string) ([]TicketBody, error) {
	var list struct {
		Tickets []TicketBody `json:"tickets"`
	}
	err := b.get(gateway+"/v1/sales/"+saleID+"/tickets/me", token, &list)
	return list.Tickets, err
}

func (b *Buyers) get(url, token string, into any) error {
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI(url)
	req.Header.Set(fasthttp.HeaderAuthorization, "Bearer "+token)
	if err := b.client.DoTimeout(req, resp, b.timeout); err != nil {
		return fmt.Errorf("cannot get %s: %w", url, err)
	}
	if resp.StatusCode() != http.StatusOK {
		return fmt.Errorf("cannot get %s: answered %d: %.200s", url, resp.StatusCode(), resp.Body())
	}
	if err := json.Unmarshal(resp.Body(), into); err != nil {
		return fmt.Errorf("cannot read answer of %s: %w", url, err)
	}
	return nil
}
