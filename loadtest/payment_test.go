package main

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/record"
	"sluice/loadtest/internal/stack"
	"sluice/shared/client"
	"sluice/shared/sale"
)

const (
	paymentUnits = 40
	paymentParts = paymentUnits / 4
	paymentHold  = "6s" // long enough to pay half of them on a busy machine
)

// TestPayment_InTimeLateAndRefundedThroughTheWholeStack lets half of the buyers pay in time, a quarter
// after their orders' expiry, and refunds some of both, while a worker dies.
func TestPayment_InTimeLateAndRefundedThroughTheWholeStack(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	s := openSale(ctx, t, paymentUnits, paymentHold, paymentUnits, stack.Config{Gateways: 2, Workers: 2})
	var winners record.Winners
	if n := s.attackFrom(ctx, &winners, 0, paymentUnits, 1000); n[0]+n[1] != paymentUnits {
		t.Fatalf("%v accepted of %d units", n, paymentUnits)
	}
	won := winners.All()
	inTime, late, idle := won[:2*paymentParts], won[2*paymentParts:3*paymentParts], won[3*paymentParts:]
	s.report(ctx, sale.PaymentSucceeded, inTime) // some before their orders are made
	s.untilOrders(ctx, "all are paid or expired", func(n map[sale.OrderState]int) bool {
		return n[sale.OrderPaid] == len(inTime) && n[sale.OrderExpired] == len(late)+len(idle)
	})
	s.must(s.stack.Kill(ctx, "worker", 0))
	s.report(ctx, sale.PaymentSucceeded, late)
	s.report(ctx, sale.PaymentSucceeded, late[:1]) // twice
	s.report(ctx, sale.RefundSucceeded, inTime[:1])
	s.report(ctx, sale.RefundSucceeded, late[1:2])
	s.untilOrders(ctx, "late ones are paid by other orders, two are refunded", func(n map[sale.OrderState]int) bool {
		return n[sale.OrderPaid] == len(inTime)+len(late)-2 && n[sale.OrderRefunded] == 2
	})
	s.wantNewest(ctx, inTime[1:], sale.StatusPaid)
	s.wantNewest(ctx, late[2:], sale.StatusPaid)
	s.wantNewest(ctx, late[1:2], sale.StatusRefunded)
	s.wantNewest(ctx, idle, sale.StatusExpired)
	s.readExpired(ctx, &winners, late)
	e := s.rest(ctx, winners.Seen(), time.Minute)
	if want := int64(len(inTime) + len(late) - 2); e.Held != want {
		t.Errorf("%d held, want %d", e.Held, want)
	}
	if len(e.RefundsOwed) != 1 || e.RefundsOwed[0].Reason != sale.OwedSecond {
		t.Errorf("refunds owed: %+v", e.RefundsOwed)
	}
}

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
