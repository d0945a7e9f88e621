package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// Sales reads all sales that are not retired.
func (c *Client) Sales(ctx context.Context) ([]Sale, error) {
	var list struct {
		Sales []Sale `json:"sales"`
	}
	if err := c.read(ctx, request{method: http.MethodGet, path: "/v1/sales", public: true}, &list); err != nil {
		return nil, fmt.Errorf("cannot read sales: %w", err)
	}
	return list.Sales, nil
}

// Sale reads one sale. An unknown one is a *Refusal with NoSuchSale.
func (c *Client) Sale(ctx context.Context, saleID string) (Sale, error) {
	var s Sale
	if err := c.read(ctx, request{method: http.MethodGet, path: salePath(saleID), public: true}, &s); err != nil {
		return Sale{}, fmt.Errorf("cannot read sale %s: %w", saleID, err)
	}
	return s, nil
}

// MyTickets reads the buyer's last ticket of each slot of a sale, newest first: what to ask when
// an app starts again and no longer knows what it bought.
func (c *Client) MyTickets(ctx context.Context, saleID string) ([]Ticket, error) {
	var list ticketList
	if err := c.read(ctx, myTickets(saleID), &list); err != nil {
		return nil, fmt.Errorf("cannot read tickets of sale %s: %w", saleID, err)
	}
	return list.Tickets, nil
}

type ticketList struct {
	Tickets []Ticket `json:"tickets"`
}

func myTickets(saleID string) request {
	return request{method: http.MethodGet, path: salePath(saleID) + "/tickets/me"}
}

func salePath(saleID string) string { return "/v1/sales/" + url.PathEscape(saleID) }

// read asks until there is an answer, a refusal that stands, or too many failures.
func (c *Client) read(ctx context.Context, r request, into any) error {
	for n := 0; ; n++ {
		err := c.readOnce(ctx, r, into)
		if err == nil || !worthAgain(err) || n+1 == tries {
			return err
		}
		if sleep(ctx, pauseAfter(err, n)) != nil {
			return err
		}
	}
}

func (c *Client) readOnce(ctx context.Context, r request, into any) error {
	a, err := c.call(ctx, r)
	if err != nil {
		return err
	}
	return a.into(into)
}
