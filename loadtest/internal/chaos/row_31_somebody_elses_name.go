package chaos

import (
	"context"
	"time"

	"sluice/loadtest/internal/hostile"
)

// somebodyElsesName: who one is, only a token says, and what one may read, only one's own ticket.
func somebodyElsesName() Row {
	return Row{
		ID: "31", Name: "somebody-elses-name", Bound: 10 * time.Second, Also: "I11", Stack: Needs{Gateways: edgeSettings},
		Fault:  "attempts and reads come with spoofed user headers, forged tokens, forged tickets and others' tickets and orders",
		Expect: "401 for a name that is not proven; one and the same 404 for every ticket and order that is not one's own; nothing is written",
		Run: func(ctx context.Context, r *Round) error {
			if err := r.begin(ctx, killUnits, killRate); err != nil {
				return err
			}
			target, err := r.stranger()
			if err != nil {
				return err
			}
			one, other := r.victims()
			r.inject()
			if err := r.misuse(ctx, target, one, other); err != nil {
				return err
			}
			r.heal()
			if err := r.recovered(ctx); err != nil {
				return err
			}
			return r.wantNoTrace(ctx, target.User)
		},
	}
}

// victims are two honest buyers who have a ticket each.
func (r *Round) victims() (one, other hostile.Victim) {
	winners := r.load.winners.All()
	order := r.random.Perm(len(winners))
	victim := func(i int) hostile.Victim {
		w := winners[order[i]]
		return hostile.Victim{User: r.user(w.Buyer), Ticket: w.Ticket, Order: w.RID}
	}
	return victim(0), victim(1)
}

// misuse uses victims' names and tickets at every gateway and worker.
func (r *Round) misuse(ctx context.Context, target hostile.Target, one, other hostile.Victim) error {
	gates, err := r.gatewayAddresses()
	if err != nil {
		return err
	}
	workers, err := r.workerAddresses()
	if err != nil {
		return err
	}
	foreign, err := target.Tickets(one, other)
	if err != nil {
		return err
	}
	names := r.repel(ctx, gates, target.Identities(one))
	r.hit(len(names), "%d attempts and reads in others' names were answered", len(names))
	tickets := r.repel(ctx, gates, foreign)
	r.wantTheSame("ticket", tickets)
	r.hit(len(tickets), "%d reads of foreign and forged tickets were answered", len(tickets))
	orders := r.repel(ctx, workers, target.Orders(one))
	r.wantTheSame("order", orders)
	r.hit(len(orders), "%d reads and cancellations of foreign and absent orders were answered", len(orders))
	return nil
}

// wantTheSame wants answers that say nothing about what they are to: not one byte differs.
func (r *Round) wantTheSame(what string, answers []hostile.Answer) {
	different := make(map[string]int)
	for _, a := range answers {
		different[a.Body]++
	}
	if len(different) != 1 {
		r.fail("I11", "the 404 for a foreign %s and for one that is not there differ: %v", what, different)
	}
}
