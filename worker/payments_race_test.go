package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"sluice/shared/client"
	"sluice/shared/devstack"
	"sluice/shared/sale"
)

// TestPayment_SameTickAsExpiry lets every order of a sale expire in the moment in which it is
// paid, in two workers. Each has one outcome: it is paid, or another one is in its place, or a
// refund is owed.
func TestPayment_SameTickAsExpiry(t *testing.T) {
	t.Parallel()
	orders, rounds := 500, 2
	if devstack.Long() {
		orders, rounds = 10_000, 20
	}
	for name, resold := range map[string]bool{"units free": false, "resold at once": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 0)
			one, first, _ := w.startPaid("")
			two, second, _ := w.startPaid("")
			sender := provider(first, second)
			sender.HTTP = &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 32}}
			var all outcomes
			ahead := 100 * time.Millisecond // of the expiry a payment is sent, so that about half arrive before it
			for range rounds {
				w.load(w.context(), int64(orders))
				rs := w.confirmed(orders)
				stop := func() {}
				if resold {
					stop = w.grab()
				}
				w.payAsTheyExpire(sender, rs, ahead)
				w.eventuallyAllApplied(len(rs))
				stop()
				got := w.outcomesOf(rs)
				w.audit()
				all.add(got)
				ahead += time.Duration(orders/2-got.paid) * 300 * time.Millisecond / time.Duration(orders)
			}
			t.Logf("of %d orders: %d paid, %d in their place, %d refunds owed", rounds*orders, all.paid, all.replaced, all.owed)
			if all.paid == 0 || all.replaced == 0 && !resold || all.owed == 0 && resold {
				t.Error("the window was missed")
			}
			if all.owed > 0 && !resold {
				t.Errorf("%d refunds are owed though nobody else bought", all.owed)
			}
			w.stopped(one)
			w.stopped(two)
		})
	}
}

// payAsTheyExpire lets orders expire one after the other, two milliseconds apart, and sends each
// payment about then: some a little earlier, some a little later than ahead of it.
func (w *world) payAsTheyExpire(sender client.Provider, rs []sale.Reservation, ahead time.Duration) {
	w.t.Helper()
	const apart, around = 2 * time.Millisecond, 200 * time.Millisecond
	begins := time.Now().Add(500 * time.Millisecond)
	rids := make([]string, len(rs))
	for i, r := range rs {
		rids[i] = r.RID
	}
	execSQL(w.t, w.postgresURL, `UPDATE orders o SET expires_at = $2::timestamptz + (d.n - 1) * interval '2 milliseconds'
		FROM unnest($1::text[]::uuid[]) WITH ORDINALITY AS d (id, n) WHERE o.id = d.id`, rids, begins)
	ctx, cancel := context.WithTimeout(w.t.Context(), patience+time.Duration(len(rs))*2*apart)
	defer cancel()
	var group sync.WaitGroup
	const senders = 16
	for s := range senders {
		group.Go(func() {
			for i := s; i < len(rs); i += senders {
				time.Sleep(time.Until(begins.Add(time.Duration(i)*apart + rand.N(around) - around/2 - ahead)))
				if err := sender.Deliver(ctx, i, paid(rs[i].RID)); err != nil {
					w.t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

// eventuallyAllApplied waits until n events of the sale have arrived and are applied.
func (w *world) eventuallyAllApplied(n int) {
	w.t.Helper()
	unapplied := func(p sale.Payment) bool { return p.Result == sale.PaymentWaits }
	for deadline := time.Now().Add(patience * time.Duration(1+n/500)); ; time.Sleep(50 * time.Millisecond) {
		rows, err := w.store.AuditSale(w.context(), w.entry.ID)
		w.must(err)
		if len(rows.Payments) == n && !slices.ContainsFunc(rows.Payments, unapplied) {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%d of %d events have arrived, and not all are applied", len(rows.Payments), n)
		}
	}
}

// grab buys every unit that comes back, for new buyers, until stop is called.
func (w *world) grab() (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		for ; ctx.Err() == nil; time.Sleep(time.Millisecond) { // or the test would do little else
			attempts := make([]sale.Attempt, 32)
			for i := range attempts {
				attempts[i] = sale.Attempt{RID: uuid.Must(uuid.NewV7()).String(), UserID: "user-" + uuid.NewString()}
			}
			_, decisions, err := w.stock.Reserve(w.context(), w.entry.ID, w.entry.Epoch, attempts)
			if err != nil {
				w.t.Error(err)
				return
			}
			var taken []sale.Reservation
			for _, d := range decisions {
				if d.Code == sale.DecidedAccepted {
					taken = append(taken, d.Ticket.Reservation)
				}
			}
			if len(taken) > 0 {
				if _, err := w.queue.Publish(w.context(), sale.HandOver{SaleID: w.entry.ID, Epoch: w.entry.Epoch,
					PriceMinor: w.entry.PriceMinor, Currency: w.entry.Currency, Reservations: taken}); err != nil {
					w.t.Error(err)
				}
			}
		}
	})
	return func() {
		cancel()
		group.Wait()
	}
}

// outcomes count what became of orders that were paid.
type outcomes struct{ paid, replaced, owed int }

func (o *outcomes) add(more outcomes) {
	o.paid += more.paid
	o.replaced += more.replaced
	o.owed += more.owed
}

// outcomesOf wants exactly one outcome of each order.
func (w *world) outcomesOf(rs []sale.Reservation) (all outcomes) {
	w.t.Helper()
	rows, err := w.store.AuditSale(w.context(), w.entry.ID)
	w.must(err)
	found := map[string]string{}
	for _, o := range rows.Orders {
		if o.State == sale.OrderPaid {
			found[o.RID] += "paid "
		}
	}
	for _, o := range rows.RefundsOwed {
		found[o.OrderID] += fmt.Sprintf("owed as %s ", o.Reason)
	}
	for _, r := range rs {
		itself, other := found[r.RID], found[sale.LateRID(r.RID)]
		switch {
		case itself == "paid " && other == "":
			all.paid++
		case itself == "" && other == "paid ":
			all.replaced++
		case itself == "owed as no_unit " && other == "":
			all.owed++
		default:
			w.t.Errorf("order %s: %q, in its place %q", r.RID, itself, other)
		}
	}
	return all
}
