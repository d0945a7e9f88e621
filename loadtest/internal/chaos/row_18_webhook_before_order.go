package chaos

import (
	"context"
	"fmt"
	"sync"
	"time"

	"sluice/loadtest/internal/record"
	"sluice/shared/sale"
)

// webhookBeforeOrder: the provider knows of an order that nobody has made yet.
func webhookBeforeOrder() Row {
	const payments = 300
	return Row{
		ID: "18", Name: "webhook-before-order", Bound: 30 * time.Second,
		Fault:  fmt.Sprintf("%d orders are paid before they are made, and a worker is killed with their payments in its hands", payments),
		Expect: "200 once a payment is stored; it is kept, and applied once there is its order",
		Run: func(ctx context.Context, r *Round) error {
			p := r.provider()
			defer p.idle()
			died, err := r.arm(ctx, "worker", r.random.IntN(workers), "worker.payment_stored=kill@2")
			if err != nil {
				return err
			}
			if err := r.setPace(ctx, "pause"); err != nil {
				return err
			}
			resume := func() error { return r.setPace(context.WithoutCancel(ctx), "resume") }
			defer func() { _ = resume() }() // the first time counts
			if err := r.begin(ctx, killUnits, killRate); err != nil {
				return err
			}
			if err := r.accepting(ctx, payments); err != nil {
				return err
			}
			r.inject()
			paid := r.load.winners.All()[:payments]
			if err := r.payAhead(ctx, p, paid, died); err != nil {
				return err
			}
			if err := resume(); err != nil {
				return err
			}
			r.heal()
			if err := p.recovered(ctx); err != nil {
				return err
			}
			return r.wantPaid(ctx, paid)
		},
	}
}

// payAhead pays for orders that are not made yet, until a worker has died of it and all
// payments are stored.
func (r *Round) payAhead(ctx context.Context, p *provider, paid []record.Winner, died <-chan struct{}) error {
	var telling sync.WaitGroup
	rids := make([]string, len(paid))
	for i, w := range paid {
		rids[i] = w.RID
		telling.Go(func() { p.tell(ctx, eventOf(sale.PaymentSucceeded, w.RID, 1)) })
	}
	telling.Wait()
	if err := r.dead(ctx, died); err != nil {
		return err
	}
	var early int
	var unread error
	err := r.until(ctx, hitPatience, "all payments are stored, and wait for their orders", func() bool {
		unread = r.query(ctx, `
			SELECT count(*) FROM payments p
			WHERE p.order_id = ANY ($1::text[]::uuid[]) AND p.applied_at IS NULL AND NOT EXISTS (SELECT FROM orders o WHERE o.id = p.order_id)`, []any{rids}, &early)
		return unread != nil || early == len(paid)
	})
	if unread != nil {
		return fmt.Errorf("cannot count payments without orders: %w", unread)
	}
	r.hit(early, "%d payments were stored before there was an order, by a worker that was killed then among others", early)
	return err
}

// wantPaid wants every one of the orders paid.
func (r *Round) wantPaid(ctx context.Context, paid []record.Winner) error {
	s, err := r.state(ctx)
	if err != nil {
		return err
	}
	states := make(map[string]string, len(s.Orders))
	for _, o := range s.Orders {
		states[o.ID] = o.State
	}
	all := make([]bought, len(paid))
	for i, w := range paid {
		if states[w.RID] != "paid" {
			r.fail("I3", "order %s was paid before it was made, and is %s", w.RID, states[w.RID])
		}
		all[i] = bought{buyer: w.Buyer, rid: w.RID}
		all[i].ticket.Ticket = w.Ticket
	}
	r.load.lookAgain(ctx, all)
	return nil
}
