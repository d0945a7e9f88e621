package main

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"sluice/loadtest/internal/record"
	"sluice/loadtest/internal/stack"
	"sluice/shared/client"
	"sluice/shared/devstack"
	"sluice/shared/sale"
)

const (
	behindUnits  = 150
	behindBuyers = killRate * 100
	behindSome   = 40

	besideRedis = "beside a Redis that restarts too"
	inRebuild   = "while the sale is in rebuild"
)

// Postgres comes back as it was before most of the sale: orders, cancellations and
// expiries are gone from it, and units that were given back and sold again are held by
// their first buyers.
func TestPostgres_RestoredOldMidSaleGetsBackWhatItHasLost(t *testing.T) {
	t.Parallel()
	for name, hold := range map[string]string{"with cancellations": "15m", "with expiries": "4s", besideRedis: "15m", inRebuild: "15m"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "with cancellations" && !devstack.Long() {
				t.Skip("its part of make long: the first case loses closed orders too")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
			defer cancel()
			k := &killed{scene: openSale(ctx, t, behindUnits, hold, behindBuyers, stack.Config{Gateways: 2, Workers: 2})}
			older := filepath.Join(t.TempDir(), "older")
			stop := k.attackUntilStopped(ctx)
			defer stop()
			k.soldMore(ctx, behindSome)
			k.must(k.stack.Restart(ctx, "postgres", (*devstack.Server).Stop, func(s *devstack.Server) error { return s.CopyData(older) }))
			k.until(ctx, "the sale sells out", func() bool { return len(k.winners.All()) >= behindUnits })
			k.settled(ctx)
			paid := 0
			if hold == "15m" {
				paid = k.payAndCancel(ctx, k.winners.All())
			}
			k.until(ctx, "units that came back are sold again", func() bool { return len(k.winners.All()) >= behindUnits+behindSome+paid })
			k.settled(ctx)
			k.readAll(ctx)
			k.must(k.stack.Restart(ctx, "postgres", (*devstack.Server).Kill, func(s *devstack.Server) error {
				switch name {
				case besideRedis:
					k.must(k.stack.Restart(ctx, "redis", (*devstack.Server).Stop, func(*devstack.Server) error { return nil }))
				case inRebuild:
					k.must(k.stores.Redis.Fence(ctx, k.saleID, 2, "a load's that is gone with it"))
				}
				return s.PutData(older)
			}))
			k.until(ctx, "postgres is found behind and is back", func() bool {
				return k.workersSum(ctx, "sluice_postgres_behind_total") == 1 && k.workersSum(ctx, "sluice_postgres_unchecked") == 0
			})
			k.until(ctx, "the sale is live again", func() bool {
				k.readAll(ctx) // while Redis is rebuilt, too
				entry, err := k.stores.Postgres.Entry(ctx, k.saleID)
				return err == nil && entry.Epoch > 1 && !entry.Rebuilding
			})
			if hold != "15m" {
				k.soldMore(ctx, behindSome) // what expires is still sold again
			}
			stop()
			e := k.rest(ctx, k.winners.Seen(), storeHealing)
			k.even(ctx)
			k.readAll(ctx)
			k.strandedBuyers(e)
			t.Logf("%d accepted, %d orders, %d held", len(k.winners.All()), len(e.Orders), e.Held)
			if hold == "15m" {
				k.untilOrders(ctx, "payments are as before", func(n map[sale.OrderState]int) bool {
					return n[sale.OrderPaid] == paid && n[sale.OrderRefunded] == paid
				})
			}
			if len(e.RefundsOwed) != 0 {
				t.Errorf("refunds owed: %+v", e.RefundsOwed)
			}
			if n := k.workersSum(ctx, "sluice_postgres_restored_surplus_total"); n != 0 {
				t.Errorf("%v orders found no unit", n)
			}
		})
	}
}

// payAndCancel cancels some orders, has others paid, and as many paid and refunded, whose
// units come back. It returns how many of each.
func (k *killed) payAndCancel(ctx context.Context, won []record.Winner) (n int) {
	k.t.Helper()
	n = behindSome / 2
	payers := won[behindSome : behindSome+2*n]
	k.cancelOrders(ctx, won[:behindSome])
	k.report(ctx, sale.PaymentSucceeded, payers)
	k.report(ctx, sale.RefundSucceeded, payers[n:])
	k.untilOrders(ctx, "all are paid, half of them refunded", func(states map[sale.OrderState]int) bool {
		return states[sale.OrderPaid] == n && states[sale.OrderRefunded] == n
	})
	return n
}

// settled waits until every reservation so far has its outcome.
func (s *scene) settled(ctx context.Context) {
	s.t.Helper()
	entry, err := s.stores.Postgres.Entry(ctx, s.saleID)
	s.must(err)
	before, _, err := s.stores.Redis.Snapshot(ctx, s.saleID, entry.Epoch)
	s.must(err)
	s.until(ctx, "every reservation has its outcome", func() bool {
		now, _, err := s.stores.Redis.Snapshot(ctx, s.saleID, entry.Epoch)
		return err == nil && now.Served >= before.Rank
	})
}

// readAll reads every winner's ticket once; the audit holds what was read against what
// is read later. While gateways do not know, they say so.
func (k *killed) readAll(ctx context.Context) (read int) {
	k.t.Helper()
	for i, won := range k.winners.All() {
		ticket, found := k.readTicket(ctx, k.gateway(i), won)
		if !found {
			continue
		}
		read++
		if last := won.Last(); last != ticket.Status && !last.CanBecome(ticket.Status) {
			k.t.Errorf("ticket of buyer %d was %s and is %s", won.Buyer, last, ticket.Status)
		}
		k.winners.Status(won.RID, ticket.Status)
	}
	return read
}

func (k *killed) readTicket(ctx context.Context, gateway string, won record.Winner) (ticket client.Ticket, found bool) {
	k.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, gateway+"/v1/tickets/"+won.Ticket, nil)
	k.must(err)
	req.Header.Set("Authorization", "Bearer "+k.tokens[won.Buyer])
	res, err := http.DefaultClient.Do(req)
	k.must(err)
	defer res.Body.Close()
	switch res.StatusCode {
	case http.StatusOK:
		k.must(json.NewDecoder(res.Body).Decode(&ticket))
		return ticket, true
	case http.StatusServiceUnavailable:
		return ticket, false
	default:
		k.t.Errorf("ticket of buyer %d: %s", won.Buyer, res.Status)
		return ticket, false
	}
}
