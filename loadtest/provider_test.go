package main

import (
	"context"
	"time"

	"github.com/google/uuid"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/record"
	"sluice/shared/client"
	"sluice/shared/sale"
)

// report sends an event of each order, as the provider does; refunds give the unit back.
func (s *scene) report(ctx context.Context, what sale.PaymentType, of []record.Winner) {
	s.t.Helper()
	info := s.stack.Info()
	p := client.Provider{Key: []byte(info.Secrets.Webhook)}
	for _, w := range info.Workers {
		p.Workers = append(p.Workers, w.URL)
	}
	for i, won := range of {
		s.must(p.Deliver(ctx, i, sale.PaymentEvent{
			EventID: uuid.NewString(), Type: what, OrderID: won.RID, AmountMinor: 100, Currency: "CNY", OccurredAt: time.Now(), Restock: true,
		}))
	}
}

// untilOrders waits for what Postgres says of the sale's orders, by state.
func (s *scene) untilOrders(ctx context.Context, what string, holds func(map[sale.OrderState]int) bool) {
	s.t.Helper()
	s.until(ctx, what, func() bool {
		rows, err := s.stores.Postgres.AuditSale(ctx, s.saleID)
		s.must(err)
		states := map[sale.OrderState]int{}
		for _, o := range rows.Orders {
			states[o.State]++
		}
		return holds(states)
	})
}

// wantNewest wants the newest ticket of each buyer to show a status, soon.
func (s *scene) wantNewest(ctx context.Context, of []record.Winner, want sale.Status) {
	s.t.Helper()
	buyers := attack.NewBuyers(4, 5*time.Second)
	defer buyers.Close()
	for i, won := range of {
		buyer, err := buyers.Buyer(s.tokens[won.Buyer], true, s.gateway(i))
		s.must(err)
		s.until(ctx, "the newest ticket is "+string(want), func() bool {
			tickets, err := buyer.MyTickets(ctx, s.saleID)
			s.must(err)
			return len(tickets) == 1 && tickets[0].Status == want
		})
	}
}
