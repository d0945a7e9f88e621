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
	ordered := make(map[string][]history.Order, len(s.Orders))
	for _, o := range s.Orders {
		ordered[o.User] = append(ordered[o.User], o)
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

// askOne has a buyer ask who has these orders: the last of each slot is found. The ticket of
// an attempt that was rejected may be there without one, or not: nobody ever said that it
// had bought.
func (r *Round) askOne(ctx context.Context, buyer int, ordered []history.Order) error {
	c, err := r.load.buyers.Buyer(r.token(buyer), true, r.gateway(buyer+1))
	if err != nil {
		return err
	}
	mine, err := c.MyTickets(ctx, r.saleID)
	if err != nil {
		return fmt.Errorf("cannot ask for the tickets of %s: %w", r.user(buyer), err)
	}
	found := slices.DeleteFunc(mine, func(t client.Ticket) bool { return t.Status == sale.StatusRejected })
	rejected := func(o history.Order) bool { return o.State == string(sale.OrderRejected) }
	last := make(map[int]history.Order)
	for _, o := range ordered {
		if o.ID > last[o.Slot].ID { // their ids tell their order
			last[o.Slot] = o
		}
	}
	for _, o := range last {
		if !rejected(o) && !slices.ContainsFunc(found, func(t client.Ticket) bool { return t.OrderID == o.ID }) {
			r.fail("I3", "%s has order %s, and finds these tickets: %v", r.user(buyer), o.ID, found)
		}
	}
	if len(found) > 0 && !slices.ContainsFunc(ordered, func(o history.Order) bool { return !rejected(o) }) {
		r.fail("I6", "%s has no order, and finds these tickets: %v", r.user(buyer), found)
	}
	return nil
}
