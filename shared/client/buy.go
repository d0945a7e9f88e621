package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// ErrUnknown says that a purchase may have been made, and that nobody could be
// asked. Buying again with the same key asks first; so does MyTickets.
var ErrUnknown = errors.New("it is not known whether the purchase was made")

// ageSlack is how much older than the first attempt a ticket may seem that the
// attempt has made, for clocks that run at different speeds and are cut to
// milliseconds.
const ageSlack = 500 * time.Millisecond

// purchase is what all attempts for one unit have in common.
type purchase struct{ saleID, key string }

// Buy buys one unit of a sale, or finds the ticket that an earlier attempt for it
// got. The key tells purchases of one sale apart where a buyer may hold several
// units; "" is a key too. The error wraps a *Refusal when the gateway's answer is
// no, and ErrUnknown when there may be a ticket all the same.
//
// The ticket of a purchase is mostly queued: Await follows it. Beside a *Refusal
// that says Rejected there is a ticket too, in the refusal.
func (c *Client) Buy(ctx context.Context, saleID, key string) (Ticket, error) {
	select {
	case <-c.turn:
		defer func() { c.turn <- struct{}{} }()
	case <-ctx.Done():
		return Ticket{}, fmt.Errorf("cannot buy in sale %s: %w", saleID, ctx.Err())
	}
	p := purchase{saleID: saleID, key: key}
	t, err := c.buy(ctx, p)
	if err == nil {
		delete(c.doubts, p)
		c.given[t.Ticket] = p
		return t, nil
	}
	if _, doubt := c.doubts[p]; doubt {
		err = fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return Ticket{}, fmt.Errorf("cannot buy in sale %s: %w", saleID, err)
}

// buy tries until there is a ticket, a refusal that stands, or too many failures.
func (c *Client) buy(ctx context.Context, p purchase) (Ticket, error) {
	for n := 0; ; n++ {
		t, err := c.try(ctx, p)
		if err == nil || !worthAgain(err) || n+1 == tries {
			return t, err
		}
		if sleep(ctx, pauseAfter(err, n)) != nil {
			return Ticket{}, err
		}
	}
}

// try attempts once, but first looks for what an attempt in doubt may have got.
func (c *Client) try(ctx context.Context, p purchase) (Ticket, error) {
	if t, err := c.inDoubt(ctx, p); err != nil || t.Ticket != "" {
		return t, err
	}
	sent := time.Now()
	t, err := c.attempt(ctx, p)
	var refused *Refusal
	switch {
	case err == nil:
		return t, nil
	case !errors.As(err, &refused) || !refused.nothingReserved():
		if _, doubt := c.doubts[p]; !doubt {
			c.doubts[p] = sent
		}
		return Ticket{}, err
	case refused.passing():
		return Ticket{}, err
	case refused.myTickets:
		if t, asking := c.inDoubt(ctx, p); asking != nil || t.Ticket != "" {
			return t, asking
		}
		delete(c.doubts, p)
	case refused.Ticket != nil: // that is what became of it
		delete(c.doubts, p)
	}
	return Ticket{}, err
}

// attempt sends one attempt. A 503 with a ticket is a purchase: the reservation is
// made, and only its hand-over is unknown.
func (c *Client) attempt(ctx context.Context, p purchase) (Ticket, error) {
	r := request{method: http.MethodPost, path: salePath(p.saleID) + "/orders"}
	if p.key != "" {
		r.header = map[string]string{"Idempotency-Key": p.key}
	}
	var t Ticket
	err := c.readOnce(ctx, r, &t)
	var refused *Refusal
	if errors.As(err, &refused) && refused.Status == http.StatusServiceUnavailable && refused.Ticket != nil {
		return *refused.Ticket, nil
	}
	if err == nil && t.Ticket == "" {
		return Ticket{}, errors.New("cannot read an answer: it has no ticket")
	}
	return t, err
}

// othersInDoubt reports whether another purchase of the sale may have got a ticket
// that nobody was told of.
func (c *Client) othersInDoubt(p purchase) bool {
	for other := range c.doubts {
		if other.saleID == p.saleID && other != p {
			return true
		}
	}
	return false
}

// inDoubt looks for the ticket of an attempt in doubt: made since the first such
// attempt was sent, and not another purchase's. None is no error.
func (c *Client) inDoubt(ctx context.Context, p purchase) (Ticket, error) {
	since, doubt := c.doubts[p]
	if !doubt || p.key != "" && c.othersInDoubt(p) {
		return Ticket{}, nil // a ticket could be another's; the keyed attempt itself tells
	}
	var list ticketList
	if err := c.readOnce(ctx, myTickets(p.saleID), &list); err != nil {
		return Ticket{}, err
	}
	for _, t := range list.Tickets {
		other, given := c.given[t.Ticket]
		if t.age() <= time.Since(since)+ageSlack && (!given || other == p) {
			return t, nil
		}
	}
	return Ticket{}, nil
}
