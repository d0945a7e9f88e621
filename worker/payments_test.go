package main

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"sluice/shared/auth"
	"sluice/shared/client"
	"sluice/shared/devstack"
	"sluice/shared/jetqueue"
	"sluice/shared/sale"
	"sluice/worker/internal/lifecycle"
)

const (
	testWebhookKey    = "wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww"
	testWebhookKeyOld = "oooooooooooooooooooooooooooooooo"
)

// startPaid starts a worker that takes payments, looks for due orders every so often
// and, with a failpoint, dies.
func (w *world) startPaid(failpoints string, flags ...string) (p *process, buyers, ops string) {
	w.t.Helper()
	p = w.startWorker(failpoints, append([]string{"-webhook-key", testWebhookKey, "-webhook-key-old", testWebhookKeyOld, "-expire-every", "20ms"}, flags...)...)
	buyers, ops = w.urlsOf(p)
	return p, buyers, ops
}

func provider(workers ...string) client.Provider {
	return client.Provider{Workers: workers, Key: []byte(testWebhookKey), HTTP: &http.Client{Timeout: patience}}
}

func eventOf(t sale.PaymentType, rid string) sale.PaymentEvent {
	return sale.PaymentEvent{EventID: "e-" + uuid.NewString(), Type: t, OrderID: rid, AmountMinor: 199900, Currency: "CNY", OccurredAt: time.Now()}
}

func paid(rid string) sale.PaymentEvent { return eventOf(sale.PaymentSucceeded, rid) }

func refunded(rid string, restock bool) sale.PaymentEvent {
	e := eventOf(sale.RefundSucceeded, rid)
	e.Restock = restock
	return e
}

func (w *world) deliver(p client.Provider, events ...sale.PaymentEvent) {
	w.t.Helper()
	for n, e := range events {
		w.must(p.Deliver(w.context(), n, e))
	}
}

// confirmed makes orders of n new buyers.
func (w *world) confirmed(n int) []sale.Reservation {
	w.t.Helper()
	reserved := w.reserve(n)
	for i := 0; i < n; i += sale.MaxHandOver {
		w.handOver(reserved[i:min(n, i+sale.MaxHandOver)])
	}
	w.eventuallyAll(sale.StatusConfirmed, reserved)
	return reserved
}

// eventuallyApplied waits until no event waits, but for some.
func (w *world) eventuallyApplied(but int64) {
	w.t.Helper()
	w.eventually("every event is applied", func() bool {
		open, err := w.store.PaymentsOpen(w.context())
		return err == nil && open.Waiting == but
	})
}

// wantOwed waits until exactly these refunds are owed and not settled.
func (w *world) wantOwed(reasons ...sale.OwedReason) {
	w.t.Helper()
	slices.Sort(reasons)
	w.eventually(fmt.Sprintf("refunds are owed: %v", reasons), func() bool {
		list, err := w.store.RefundsOwed(w.context(), 100_000)
		w.must(err)
		var open []sale.OwedReason
		for _, o := range list {
			if o.SettledAt.IsZero() {
				open = append(open, o.Reason)
			}
		}
		slices.Sort(open)
		return slices.Equal(reasons, open)
	})
}

// late is the reservation that takes an order's place.
func late(r sale.Reservation) sale.Reservation {
	r.RID = sale.LateRID(r.RID)
	return r
}

func TestPayment_ShowsOnTheTicketAndIsRefundedWithOrWithoutTheUnit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	p, buyers, ops := w.startPaid("")
	rs := w.confirmed(3)
	w.deliver(provider(buyers), paid(rs[0].RID), paid(rs[1].RID), eventOf(sale.PaymentFailed, rs[2].RID))
	w.eventuallyAll(sale.StatusPaid, rs[:2])
	w.wantAnswer(w.ask(buyers, "GET", "/v1/orders/"+rs[0].RID, rs[0].UserID), 200, `"status":"paid","amount":199900,"currency":"CNY","pay_by":null`)
	w.overdue()
	w.eventuallyAll(sale.StatusExpired, rs[2:])
	w.wantStock(1)

	w.deliver(provider(buyers), refunded(rs[0].RID, false), refunded(rs[1].RID, true))
	w.eventuallyAll(sale.StatusRefunded, rs[:2])
	w.wantStock(2)
	w.wantAnswer(w.ask(buyers, "GET", "/v1/orders/"+rs[1].RID, rs[1].UserID), 200, `"status":"refunded"`)
	w.eventually("what was done is counted", func() bool {
		return w.metric(ops, `sluice_payments_total\{result="paid"\}`) == 2 && w.metric(ops, `sluice_payments_total\{result="refunded"\}`) == 2 &&
			w.metric(ops, `sluice_payments_total\{result="noted"\}`) == 1 && w.metric(ops, `sluice_payment_events_total\{known="new"\}`) == 5
	})
	w.audit()
	w.stopped(p)
}

func TestPayment_EarlyRepeatedReorderedAndDoubledEventsHaveOneEffect(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4)
	one, first, ops := w.startPaid("")
	two, second, _ := w.startPaid("")
	rs := w.reserve(4)
	early, again, changed := paid(rs[0].RID), paid(rs[0].RID), paid(rs[0].RID)
	changed.EventID, changed.AmountMinor = early.EventID, 1
	wrong := paid(rs[1].RID)
	wrong.AmountMinor++
	both := provider(first, second)
	w.deliver(both, refunded(rs[2].RID, true), early, early, early, changed, wrong, paid(rs[2].RID), paid(sale.LateRID(rs[0].RID)))
	w.eventually("the events are kept", func() bool {
		open, err := w.store.PaymentsOpen(w.context())
		return err == nil && open.Waiting == 5
	})
	w.handOver(rs)
	w.eventuallyApplied(1) // of an order that nobody knows
	w.eventuallyAll(sale.StatusPaid, rs[:1])
	w.eventuallyAll(sale.StatusRefunded, rs[2:3])
	w.deliver(both, again, early, changed)
	w.wantOwed(sale.OwedSecond)
	for message := range map[string]bool{"refund owed": true, "payment event repeated with another content": true, "payment not of the order's amount": true} {
		w.eventually(message, func() bool { return strings.Contains(one.log.String()+two.log.String(), `"`+message+`"`) })
	}
	w.eventually("the refund owed is exported", func() bool { return w.metric(ops, "sluice_refunds_owed") == 1 })
	w.deliver(both, refunded(rs[0].RID, false)) // of what is owed: the order stays paid
	w.eventually("nothing is owed", func() bool { return w.metric(ops, "sluice_refunds_owed") == 0 })
	w.eventuallyAll(sale.StatusPaid, rs[:1])
	w.eventuallyAll(sale.StatusConfirmed, []sale.Reservation{rs[1], rs[3]})
	w.wantStock(1)
	w.stopped(one)
	w.stopped(two)
}

// redeliverPayments deletes the consumer of payment events: whoever fetches next makes it
// anew, from the stream's start.
func (w *world) redeliverPayments() {
	w.t.Helper()
	conn, err := nats.Connect(w.natsURL)
	w.must(err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	w.must(err)
	w.must(js.DeleteConsumer(w.context(), jetqueue.PaymentsStream, "payments"))
}

func TestPayment_AfterExpiryTakesAnotherUnitOrIsOwed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	p, buyers, ops := w.startPaid("")
	rs := w.confirmed(2)
	w.overdue()
	w.eventuallyAll(sale.StatusExpired, rs)
	execSQL(t, w.postgresURL, `UPDATE sales SET paused = true, rev = rev + 1 WHERE sale_id = $1`, w.entry.ID)
	w.eventually("the sale is paused", func() bool {
		snapshot, _, err := w.stock.Snapshot(w.context(), w.entry.ID, w.entry.Epoch)
		return err == nil && snapshot.Paused
	})
	w.deliver(provider(buyers), paid(rs[0].RID))
	w.eventuallyAll(sale.StatusPaid, []sale.Reservation{late(rs[0])})
	w.eventuallyAll(sale.StatusExpired, rs)
	w.wantStock(1)
	_, tickets, err := w.stock.TicketsOf(w.context(), w.entry.ID, w.entry.Epoch, rs[0].UserID)
	w.must(err)
	if len(tickets) != 1 || tickets[0].RID != sale.LateRID(rs[0].RID) {
		t.Errorf("the buyer's tickets are %v", tickets)
	}
	list := w.ask(buyers, "GET", "/v1/orders", rs[0].UserID)
	w.wantAnswer(list, 200, `"replaces":"`+rs[0].RID+`"`)
	w.wantAnswer(list, 200, `"id":"`+rs[0].RID+`","sale":"`+w.entry.ID+`","sku":"PHONE-1","status":"expired"`)

	execSQL(t, w.postgresURL, `UPDATE sales SET paused = false, rev = rev + 1 WHERE sale_id = $1`, w.entry.ID)
	w.eventually("the sale goes on", func() bool {
		snapshot, _, err := w.stock.Snapshot(w.context(), w.entry.ID, w.entry.Epoch)
		return err == nil && !snapshot.Paused
	})
	w.handOver(w.reserve(1)) // the last unit
	w.eventually("the late payment is counted", func() bool { return w.metric(ops, `sluice_payments_total\{result="replaced"\}`) == 1 })
	w.deliver(provider(buyers), paid(rs[1].RID))
	w.wantOwed(sale.OwedNoUnit)
	w.deliver(provider(buyers), refunded(rs[0].RID, true)) // of the order that was replaced
	w.eventuallyAll(sale.StatusRefunded, []sale.Reservation{late(rs[0])})
	w.wantStock(1)
	w.audit()
	w.stopped(p)
}

// A flood of late payments comes to two workers: as many orders as there are units, and the
// others are owed.
func TestPayment_FloodOfLateOnesTakesWhatThereIs(t *testing.T) {
	t.Parallel()
	const orders, left = 200, 120
	w := newWorld(t, orders)
	first, buyers, _ := w.startPaid("")
	second, others, _ := w.startPaid("")
	rs := w.confirmed(orders)
	w.overdue()
	w.eventuallyAll(sale.StatusExpired, rs)
	w.confirmed(orders - left)
	var sending errgroup.Group
	sending.SetLimit(16)
	for i, r := range rs {
		sending.Go(func() error { return provider(buyers, others).Deliver(w.context(), i, paid(r.RID)) })
	}
	w.must(sending.Wait())
	w.eventuallyApplied(0)
	w.wantOwed(slices.Repeat([]sale.OwedReason{sale.OwedNoUnit}, orders-left)...)
	w.eventually("the others are paid", func() bool {
		paid := 0
		for _, r := range rs {
			if o, found, err := w.store.OrderOf(w.context(), r.UserID, sale.LateRID(r.RID)); err == nil && found && o.State == sale.OrderPaid && o.Replaces == r.RID {
				paid++
			}
		}
		return paid == left
	})
	w.wantStock(0)
	w.audit()
	w.stopped(first)
	w.stopped(second)
}

// TestPayment_KilledAtAFailpointIsFinishedByTheNext has payments in time, late ones and refunds
// meet each failpoint, in turn with the worker that dies at it.
func TestPayment_KilledAtAFailpointIsFinishedByTheNext(t *testing.T) {
	t.Parallel()
	for point, action := range map[string]string{
		lifecycle.PaymentStored: "payment", lifecycle.PaymentApplied: "payment", lifecycle.LateReserved: "late payment",
		lifecycle.PaymentApplied + "=kill@2": "refund",
	} {
		t.Run(point+" of a "+action, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 2)
			if !strings.Contains(point, "=") {
				point += "=kill"
			}
			doomed, buyers, _ := w.startPaid(point)
			rs := w.confirmed(2)
			events, want := []sale.PaymentEvent{paid(rs[0].RID)}, rs[0]
			status := sale.StatusPaid
			if action == "late payment" {
				w.overdue()
				w.eventuallyAll(sale.StatusExpired, rs)
				want = late(rs[0])
			}
			if action == "refund" {
				events, status = append(events, refunded(rs[0].RID, true)), sale.StatusRefunded
			}
			for _, e := range events {
				if err := provider(buyers).Send(w.context(), 0, e); err != nil && !isGone(err) {
					t.Fatal(err)
				}
				if len(events) > 1 && e.Type == sale.PaymentSucceeded {
					w.eventuallyAll(sale.StatusPaid, rs[:1])
				}
			}
			select {
			case <-doomed.Exited():
			case <-w.context().Done():
				t.Fatal("the failpoint was not met")
			}
			p, buyers, _ := w.startPaid("")
			w.deliver(provider(buyers), events...)
			w.eventuallyAll(status, []sale.Reservation{want})
			w.eventuallyApplied(0)
			w.wantOwed()
			switch action {
			case "payment":
				w.wantStock(0)
			default:
				w.wantStock(1)
			}
			w.audit()
			w.stopped(p)
		})
	}
}

// isGone reports whether the worker died before it could answer.
func isGone(err error) bool {
	var refused *client.Refusal
	return !errors.As(err, &refused)
}

func TestPayment_LateOneLeftReservedIsHandedOverByTheSweeperAndPaidAllTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	doomed, buyers, _ := w.startPaid(lifecycle.LateReserved + "=kill")
	rs := w.confirmed(1)
	w.overdue()
	w.eventuallyAll(sale.StatusExpired, rs)
	w.must(provider(buyers).Send(w.context(), 0, paid(rs[0].RID)))
	<-doomed.Exited()
	execSQL(t, w.postgresURL, `ALTER TABLE payments RENAME TO payments_away`) // nobody applies it meanwhile
	p, _, _ := w.startPaid("")
	w.eventuallyAll(sale.StatusConfirmed, []sale.Reservation{late(rs[0])})
	execSQL(t, w.postgresURL, `ALTER TABLE payments_away RENAME TO payments`)
	w.eventuallyAll(sale.StatusPaid, []sale.Reservation{late(rs[0])})
	w.wantStock(0)
	w.wantOwed()
	w.audit()
	w.stopped(p)
}

func TestPayment_StoresThatAreAwayAndReplays(t *testing.T) {
	t.Parallel()
	postgres := ownServer(t, devstack.StartPostgres)
	w := newWorldOn(t, 5, serverURLs{redis: devstack.RedisForTest(t).URL(), postgres: postgres.URL()})
	p, buyers, ops := w.startPaid("")
	rs := w.confirmed(5)
	w.must(postgres.Kill())
	w.deliver(provider(buyers), paid(rs[0].RID), paid(rs[1].RID)) // stored all the same
	w.must(postgres.Restart(w.context()))
	w.eventuallyAll(sale.StatusPaid, rs[:2])

	// Postgres has lost a payment; the stream has it.
	execSQL(t, w.postgresURL, `UPDATE orders SET state = 'pending', expires_at = now() + interval '1 hour' WHERE id = $1::text::uuid`, rs[0].RID)
	execSQL(t, w.postgresURL, `DELETE FROM payments WHERE order_id = $1::text::uuid`, rs[0].RID)
	w.redeliverPayments()
	w.eventually("the lost payment is applied again, the other one is known", func() bool {
		return w.metric(ops, `sluice_payment_events_total\{known="new"\}`) == 3 && w.metric(ops, `sluice_payment_events_total\{known="before"\}`) >= 1
	})
	w.eventuallyApplied(0)
	w.wantOwed()
	if o, _, err := w.store.OrderOf(w.context(), rs[0].UserID, rs[0].RID); err != nil || o.State != sale.OrderPaid {
		t.Errorf("order %s, error %v", o.State, err)
	}
	w.wantStock(0)
	w.stopped(p)
}

func TestPayment_KeysChangeWithoutAGap(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	p, buyers, _ := w.startPaid("")
	rs := w.confirmed(3)
	for i, key := range []string{testWebhookKey, testWebhookKeyOld} {
		sender := provider(buyers)
		sender.Key = []byte(key)
		w.deliver(sender, paid(rs[i].RID))
	}
	w.eventuallyAll(sale.StatusPaid, rs[:2])
	forger := provider(buyers)
	forger.Key = []byte(testKey)
	var refused *client.Refusal
	if err := forger.Send(w.context(), 0, paid(rs[2].RID)); !errors.As(err, &refused) || refused.Status != 401 {
		t.Errorf("an event of an unknown key: %v", err)
	}
	w.stopped(p)
	closed := w.startWorker("")
	buyers, _ = w.urlsOf(closed)
	if err := provider(buyers).Send(w.context(), 0, paid(rs[2].RID)); !errors.As(err, &refused) || refused.Status != 401 {
		t.Errorf("a worker without a key: %v", err)
	}
	w.stopped(closed)
}

func TestOpenAPI_EveryAnswerToTheProvider(t *testing.T) {
	t.Parallel()
	nats := ownServer(t, devstack.StartNATS)
	w := newWorldOn(t, 1, serverURLs{redis: devstack.RedisForTest(t).URL(), postgres: schemaURL(t), nats: nats.URL()})
	p, buyers, _ := w.startPaid("")
	const target = "/v1/payments/webhook"
	sign := func(body string) []string {
		return []string{auth.SignatureHeader + ": " + auth.SignWebhook([]byte(testWebhookKey), []byte(body), time.Now())}
	}
	good := `{"event_id":"e","type":"payment.failed","order_id":"0193a1b2-0000-7000-8000-000000000001","amount":0,"currency":"CNY","occurred_at":"2026-12-01T10:00:00Z"}`
	w.wantAnswer(w.post(buyers, target, "", good, sign(good)...), 200, `{"event_id":"e"}`)
	w.wantAnswer(w.post(buyers, target, "", good), 401, "/problems/unauthenticated")
	w.wantAnswer(w.post(buyers, target, "", "{}", sign("{}")...), 400, `"field":"event_id"`)
	w.wantAnswer(w.post(buyers, target, "", strings.Repeat(" ", 9000)), 413, "/problems/too-large")
	w.wantAnswer(w.ask(buyers, "GET", target, ""), 405, "/problems/method-not-allowed")
	w.must(nats.Kill())
	w.wantAnswer(w.post(buyers, target, "", good, sign(good)...), 503, "/problems/unavailable")
	w.must(nats.Restart(w.context()))
	w.eventually("the stream is back", func() bool { return w.post(buyers, target, "", good, sign(good)...).status == 200 })
	w.stopped(p)
}
