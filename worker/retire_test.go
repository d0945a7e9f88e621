package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/shared/sale"
)

// closed puts the sale's end into the past, as an operator's change would.
func (w *world) closed() {
	w.t.Helper()
	execSQL(w.t, w.postgresURL, `UPDATE sales SET opens_at = now() - interval '2 hours', closes_at = now() - interval '1 hour', rev = rev + 1 WHERE sale_id = $1`, w.entry.ID)
}

// leftInRedis names the sale's keys.
func (w *world) leftInRedis() []string {
	w.t.Helper()
	options, err := redis.ParseURL(w.redisURL)
	w.must(err)
	raw := redis.NewClient(options)
	defer func() { _ = raw.Close() }()
	names, err := raw.Keys(w.context(), "sluice:{"+w.entry.ID+"}:*").Result()
	w.must(err)
	return names
}

// leftInNATS says whether the stream or the catalogue have anything of the sale.
func (w *world) leftInNATS() bool {
	w.t.Helper()
	known, err := w.queue.Known(w.context())
	w.must(err)
	return strings.Contains(" "+strings.Join(known, " ")+" ", " "+w.entry.ID+" ")
}

// wantGone waits until nothing but rows is left.
func (w *world) wantGone() {
	w.t.Helper()
	w.eventually("the sale is forgotten", func() bool {
		entries, err := w.store.Entries(w.context())
		return err == nil && len(entries) == 0
	})
	if keys := w.leftInRedis(); len(keys) > 0 {
		w.t.Errorf("left in Redis: %v", keys)
	}
	if w.leftInNATS() {
		w.t.Error("NATS still has something of the sale")
	}
	if entry, err := w.store.Entry(w.context(), w.entry.ID); err != nil || !entry.Retired {
		w.t.Errorf("in Postgres: retired %v, %v", entry.Retired, err)
	}
}

// pay marks orders as paid, each by a payment.
func (w *world) pay(reserved []sale.Reservation) {
	w.t.Helper()
	rids := make([]string, len(reserved))
	for i, r := range reserved {
		rids[i] = r.RID
	}
	execSQL(w.t, w.postgresURL, `
		WITH paid AS (
			UPDATE orders SET state = 'paid', expires_at = NULL
			WHERE sale_id = $1 AND state = 'pending' AND id = ANY ($2::text[]::uuid[]) RETURNING id, amount, currency
		)
		INSERT INTO payments (event_id, type, order_id, amount, currency, restock, occurred_at, result, applied_at)
		SELECT 'of ' || id, 'payment.succeeded', id, amount, currency, false, now(), 'paid', now() FROM paid`, w.entry.ID, rids)
}

func retiring(flags ...string) []string {
	return append([]string{"-retire-every", "20ms", "-retention", "1m", "-forget-after", "1s", "-expire-every", "20ms"}, flags...)
}

func TestRetire_LeavesRowsAndNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 20)
	one, two := w.startWorker("", retiring()...), w.startWorker("", retiring()...)
	reserved := w.reserve(20)
	w.handOver(reserved)
	w.eventuallyAll(sale.StatusConfirmed, reserved)
	w.closed()
	_, ops := w.urlsOf(one)
	w.eventually("pending orders keep it", func() bool {
		_, text := get(ops + "/metrics")
		return strings.Contains(text, `sluice_sales_not_retired{reason="pending_orders"} 1`)
	})
	if entry, err := w.store.Entry(w.context(), w.entry.ID); err != nil || entry.Retired {
		t.Fatalf("retired %v with pending orders, %v", entry.Retired, err)
	}
	w.pay(reserved[:1])
	w.overdue()
	w.wantGone()
	if state := w.orders(); len(state.Orders) != 20 || state.Held != 1 {
		t.Errorf("%d orders, %d held", len(state.Orders), state.Held)
	}

	execSQL(t, w.postgresURL, `INSERT INTO releases (rid, sale_id, status, reason, give) VALUES ($1::text::uuid, $2, 'refunded', '', 0)`, reserved[0].RID, w.entry.ID)
	w.eventually("a later release is applied without Redis", func() bool {
		rows, err := w.store.AuditSale(w.context(), w.entry.ID)
		return err == nil && rows.Unapplied == 0
	})
	if keys := w.leftInRedis(); len(keys) > 0 {
		t.Errorf("the release left in Redis: %v", keys)
	}
	w.stopped(one)
	w.stopped(two)
}

func TestRetire_WorkerKilledBetweenItsStepsIsMadeGood(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"worker.retired", "worker.cleared"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 5)
			p := w.startWorker(point+"=kill", retiring()...)
			reserved := w.reserve(5)
			w.handOver(reserved)
			w.eventuallyAll(sale.StatusConfirmed, reserved)
			w.pay(reserved)
			w.closed()
			w.eventually("the worker is killed", func() bool { return strings.Contains(p.log.String(), "failpoint "+point+": killed") })
			w.must(p.Kill()) // reaps it
			if entry, err := w.store.Entry(w.context(), w.entry.ID); err != nil || !entry.Retired {
				t.Fatalf("retired %v, %v: the window was missed", entry.Retired, err)
			}
			next := w.startWorker("", retiring()...)
			w.wantGone()
			w.stopped(next)
		})
	}
}

func TestRetire_OrderWithoutATraceKeepsTheSale(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 5)
	p := w.startWorker("", retiring()...)
	reserved := w.reserve(5)
	w.handOver(reserved)
	w.eventuallyAll(sale.StatusConfirmed, reserved)
	w.eventuallyAcknowledged()
	w.pay(reserved)
	w.eventually("every order is shown as paid", func() bool {
		left, err := w.store.Unshown(w.context(), 100, nil)
		return err == nil && len(left) == 0
	})
	// Of the first order neither the ticket nor the hand-over is left.
	options, err := redis.ParseURL(w.redisURL)
	w.must(err)
	raw := redis.NewClient(options)
	defer func() { _ = raw.Close() }()
	w.must(raw.HDel(w.context(), fmt.Sprintf("sluice:{%s}:1:tickets", w.entry.ID), reserved[0].RID).Err())
	w.must(w.queue.Purge(w.context(), w.entry.ID, 0))
	w.closed()
	w.eventually("the audit's verdict is logged", func() bool { return strings.Contains(p.log.String(), "sale not retired: its audit failed") })
	if !strings.Contains(p.log.String(), "traces to no hand-over and no ticket") {
		t.Error("the log does not say why")
	}
	if entry, err := w.store.Entry(w.context(), w.entry.ID); err != nil || entry.Retired {
		t.Errorf("retired %v, %v", entry.Retired, err)
	}
	w.stopped(p)
}

func TestRetire_SaleThatARestoredNATSBringsBackIsClearedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 5)
	p := w.startWorker("", retiring()...)
	w.closed()
	w.wantGone()
	w.stopped(p)
	execSQL(t, w.postgresURL, `UPDATE sales SET forgotten_at = now() - interval '1 hour', cleared_at = now() - interval '1 hour' WHERE sale_id = $1`, w.entry.ID)
	_, err := w.queue.PutEntry(w.context(), w.entry) // as it was while it was open
	w.must(err)
	_, err = w.queue.Consumer(w.context(), w.entry.ID, time.Second)
	w.must(err)

	p = w.startWorker("", retiring()...)
	w.eventually("it is known again", func() bool { return strings.Contains(p.log.String(), "forgotten sales are back") })
	w.wantGone()
	w.stopped(p)
}
