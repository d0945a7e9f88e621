package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"sluice/loadtest/internal/history"
	"sluice/shared/client"
	"sluice/shared/sale"
)

// mostAsked bounds the buyers whom a row of its own asks about: each is a request or two.
const mostAsked = 200

// askers are the buyers who ask at the same time.
const askers = 8

// askTheUnknowing has all buyers of whom an attempt had no certain answer ask for their
// tickets, at the gateway that they did not attempt at: whoever has an order finds it there,
// whoever has none finds none.
func (r *Round) askTheUnknowing(ctx context.Context, s history.State) error {
	ordered := make(map[string][]string, len(s.Orders))
	for _, o := range s.Orders {
		if o.State != string(sale.OrderRejected) { // whose ticket, if there ever was one, says so
			ordered[o.User] = append(ordered[o.User], o.ID)
		}
	}
	buyers := r.load.left()
	if len(buyers) == 0 {
		return nil
	}
	errs := make([]error, askers)
	var asking sync.WaitGroup
	for i := range askers {
		asking.Go(func() {
			for at := i; at < len(buyers) && errs[i] == nil; at += askers {
				errs[i] = r.askOne(ctx, buyers[at], ordered[r.user(buyers[at])])
			}
		})
	}
	asking.Wait()
	return errors.Join(errs...)
}

// askOne has a buyer ask who has these orders. The ticket of an attempt that was rejected
// may be there without one: nobody ever said that it had bought.
func (r *Round) askOne(ctx context.Context, buyer int, ordered []string) error {
	c, err := r.load.buyers.Buyer(r.token(buyer), true, r.gateway(buyer+1))
	if err != nil {
		return err
	}
	mine, err := c.MyTickets(ctx, r.saleID)
	if err != nil {
		return fmt.Errorf("cannot ask for the tickets of %s: %w", r.user(buyer), err)
	}
	found := slices.DeleteFunc(mine, func(t client.Ticket) bool { return t.Status == sale.StatusRejected })
	for _, id := range ordered {
		if !slices.ContainsFunc(found, func(t client.Ticket) bool { return t.OrderID == id }) {
			r.fail("I3", "%s has order %s, and finds these tickets: %v", r.user(buyer), id, found)
		}
	}
	if len(ordered) == 0 && len(found) > 0 {
		r.fail("I6", "%s has no order, and finds these tickets: %v", r.user(buyer), found)
	}
	return nil
}
