package main

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/shared/sale"
	"sluice/worker/internal/reconcile"
)

// atRest is a world of 10 units of which 4 are ordered, and nothing under way.
func atRest(t *testing.T, failpoints string, flags ...string) (*world, *process, []sale.Reservation) {
	t.Helper()
	w := newWorld(t, 10)
	p := w.startWorker(failpoints, append([]string{"-reconcile-every", "200ms", "-stuck-after", "1s"}, flags...)...)
	reserved := w.reserve(4)
	w.handOver(reserved)
	w.eventuallyAll(sale.StatusConfirmed, reserved)
	w.eventuallyAcknowledged()
	return w, p, reserved
}

// runs returns the finished runs from a number on, oldest first.
func (w *world) runs(from int64) []sale.ReconciliationRun {
	w.t.Helper()
	all, err := w.store.ReconciliationRuns(w.context(), 1000)
	w.must(err)
	var finished []sale.ReconciliationRun
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Run >= from && !all[i].FinishedAt.IsZero() {
			finished = append(finished, all[i])
		}
	}
	return finished
}

// next waits for a run that began after now, and returns the runs from there on.
func (w *world) next(n int) []sale.ReconciliationRun {
	w.t.Helper()
	newest, err := w.store.ReconciliationRuns(w.context(), 1)
	w.must(err)
	from := int64(1)
	if len(newest) > 0 {
		from = newest[0].Run + 1
	}
	var runs []sale.ReconciliationRun
	w.eventually("runs are finished", func() bool { runs = w.runs(from); return len(runs) >= n })
	return runs
}

// key names one of the sale's keys in Redis.
func (w *world) key(name string) string { return fmt.Sprintf("sluice:{%s}:1:%s", w.entry.ID, name) }

func (w *world) raw() *redis.Client {
	w.t.Helper()
	options, err := redis.ParseURL(w.redisURL)
	w.must(err)
	raw := redis.NewClient(options)
	w.t.Cleanup(func() { _ = raw.Close() })
	return raw
}

func TestReconcile_ASaleAtRestDoesNotDeviate(t *testing.T) {
	t.Parallel()
	w, p, _ := atRest(t, "")
	for _, run := range w.next(5) {
		if run.Deviations != 0 || run.Sales != 1 {
			t.Errorf("%+v", run)
		}
	}
	last, err := w.store.LastReconciliation(w.context(), w.entry.ID)
	w.must(err)
	if !last.AtRest || !last.InRedis || last.Free != 6 || last.Stock != 6 || last.Holding != 4 || last.Accepted != 4 || len(last.Findings) != 0 {
		t.Errorf("%+v", last)
	}
	days, err := w.store.ReconciliationDays(w.context(), 10)
	if err != nil || len(days) == 0 || days[0].Runs < 5 || days[0].Deviations != 0 {
		t.Errorf("%+v, %v", days, err)
	}
	w.stopped(p)
}

func TestReconcile_OnePlantedDeviationIsToldAndNothingElse(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		plant    func(w *world, raw *redis.Client, ctx context.Context, reserved []sale.Reservation) error
		kind     string
		amount   int64
		repaired bool
	}{
		"a unit too many in Redis": {func(w *world, raw *redis.Client, ctx context.Context, _ []sale.Reservation) error {
			return raw.Incr(ctx, w.key("stock")).Err()
		}, reconcile.StockHigh, 1, true},
		"a unit too few in Redis": {func(w *world, raw *redis.Client, ctx context.Context, _ []sale.Reservation) error {
			return raw.Decr(ctx, w.key("stock")).Err()
		}, reconcile.StockLow, 1, true},
		"a sold-out flag": {func(w *world, raw *redis.Client, ctx context.Context, _ []sale.Reservation) error {
			return raw.HSet(ctx, "sluice:{"+w.entry.ID+"}:meta", "sold_out", "1").Err()
		}, reconcile.SoldOutFlag, 6, true},
		"another total in Redis": {func(w *world, raw *redis.Client, ctx context.Context, _ []sale.Reservation) error {
			return raw.HSet(ctx, "sluice:{"+w.entry.ID+"}:meta", "total", "12").Err()
		}, reconcile.TotalDiffers, 2, false},
		"an entry in handoff": {func(w *world, raw *redis.Client, ctx context.Context, _ []sale.Reservation) error {
			return raw.ZAdd(ctx, w.key("handoff"), redis.Z{Score: float64(time.Now().Add(-time.Hour).UnixMilli()), Member: "of nobody"}).Err()
		}, reconcile.HandOffStuck, 1, false},
		"a row that lost its unit": {func(w *world, _ *redis.Client, _ context.Context, reserved []sale.Reservation) error {
			execSQL(w.t, w.postgresURL, `UPDATE orders SET state = 'refunded', shown_state = 'refunded', holds_unit = false WHERE id = $1::text::uuid`, reserved[0].RID)
			return nil
		}, reconcile.HeldRows, 1, false},
		"a release that Redis cannot apply": {func(w *world, _ *redis.Client, _ context.Context, _ []sale.Reservation) error {
			execSQL(w.t, w.postgresURL, `INSERT INTO releases (rid, sale_id, status, reason, give, created_at) VALUES (gen_random_uuid(), $1, 'expired', '', 0, now() - interval '1 hour')`, w.entry.ID)
			return nil
		}, reconcile.ReleaseStuck, 1, false},
		"an order that no ticket shows": {func(w *world, raw *redis.Client, ctx context.Context, reserved []sale.Reservation) error {
			execSQL(w.t, w.postgresURL, `UPDATE orders SET shown_state = '' WHERE id = $1::text::uuid`, reserved[0].RID)
			return raw.HDel(ctx, w.key("tickets"), reserved[0].RID).Err()
		}, reconcile.UnshownStuck, 1, false},
		"a dead letter": {func(w *world, _ *redis.Client, _ context.Context, _ []sale.Reservation) error {
			execSQL(w.t, w.postgresURL, `INSERT INTO dead_letters (sale_id, epoch, sequence, payload, reason) VALUES ($1, 1, 1, '', 'test')`, w.entry.ID)
			return nil
		}, reconcile.DeadLetterOpen, 1, false},
		"a refund that is owed, beside one that is settled": {func(w *world, _ *redis.Client, _ context.Context, reserved []sale.Reservation) error {
			w.owe(reserved[0].RID, "settled", "now()")
			w.owe(reserved[0].RID, "open", "NULL")
			return nil
		}, reconcile.RefundOwed, 1, false},
		"a payment event that waits for long": {func(w *world, _ *redis.Client, _ context.Context, reserved []sale.Reservation) error {
			// A refund comes before its payment; one of an order that is not there yet is of no sale.
			execSQL(w.t, w.postgresURL, `INSERT INTO payments (event_id, type, order_id, amount, currency, restock, occurred_at, received_at) VALUES
				('waits', 'refund.succeeded', $1::text::uuid, 1, 'CNY', false, now(), now() - interval '1 hour'),
				('waits for its order', 'refund.succeeded', gen_random_uuid(), 1, 'CNY', false, now(), now() - interval '1 hour')`, reserved[0].RID)
			return nil
		}, reconcile.PaymentStuck, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, p, reserved := atRest(t, "")
			w.next(1)
			w.must(tc.plant(w, w.raw(), w.context(), reserved))
			var told sale.ReconciliationRun
			w.eventually("it is told", func() bool {
				for _, run := range w.runs(1) {
					if run.Deviations > 0 {
						told = run
						return true
					}
				}
				return false
			})
			want := map[string]int64{tc.kind: tc.amount}
			if !maps.Equal(told.ByKind, want) || told.Deviations != tc.amount {
				t.Errorf("told %v, %d in all; want %v", told.ByKind, told.Deviations, want)
			}
			w.eventually("it is logged as an error", func() bool {
				return strings.Contains(p.log.String(), `"level":"WARN","msg":"stores deviate"`) && strings.Contains(p.log.String(), `"kind":"`+tc.kind+`"`)
			})
			w.staysOrGoes(tc.kind, tc.amount, tc.repaired)
			days, err := w.store.ReconciliationDays(w.context(), 1)
			if err != nil || len(days) != 1 || days[0].Deviations != tc.amount || (days[0].Repaired > 0) != tc.repaired {
				t.Errorf("of the day: %+v, %v", days, err)
			}
			w.stopped(p)
		})
	}
}

// staysOrGoes waits until a deviation that can be repaired is gone, and wants one that
// cannot be in every further run.
func (w *world) staysOrGoes(kind string, amount int64, repaired bool) {
	w.t.Helper()
	if repaired {
		w.eventually("it is put right", func() bool { return w.next(1)[0].Deviations == 0 })
		snap, _, err := w.stock.Snapshot(w.context(), w.entry.ID, w.entry.Epoch)
		if err != nil || snap.Stock != 6 || snap.SoldOut {
			w.t.Errorf("put right: stock %d, sold out %v, %v", snap.Stock, snap.SoldOut, err)
		}
	}
	for _, run := range w.next(3) {
		if repaired && run.Deviations != 0 || !repaired && run.ByKind[kind] != amount {
			w.t.Errorf("afterwards: %+v", run)
		}
	}
}

func TestReconcile_OnDemandAnswersWithTheRunThatItAskedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 10)
	one := w.startWorker("", "-reconcile-every", "1h", "-admin-token", adminToken)
	two := w.startWorker("", "-reconcile-every", "1h", "-admin-token", adminToken)
	_, opsOne := w.urlsOf(one)
	_, opsTwo := w.urlsOf(two)
	w.must(w.raw().Incr(w.context(), w.key("stock")).Err())
	w.wantAnswer(w.operate(opsOne, "POST", "/admin/v1/reconciliations", ""), 200, `"kind":"stock_high","amount":1`)
	w.wantAnswer(w.operate(opsTwo, "POST", "/admin/v1/reconciliations", "{}"), 200, `"deviations":0,"repaired":0,"by_kind":{}`)
	w.wantAnswer(w.operate(opsTwo, "GET", "/admin/v1/reconciliations", ""), 200, `"run":2`)
	w.stopped(one)
	w.stopped(two)
}

func TestReconcile_NothingIsToldUnderLoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2000)
	execSQL(t, w.postgresURL, `UPDATE sales SET hold = interval '300 milliseconds', rev = rev + 1 WHERE sale_id = $1`, w.entry.ID)
	flags := []string{"-reconcile-every", "100ms", "-stuck-after", "5s", "-expire-every", "20ms"}
	one, two := w.startWorker("", flags...), w.startWorker("", flags...)
	for range 120 {
		reserved := w.reserve(10)
		w.handOver(reserved)
		w.must(w.stock.HandedOver(w.context(), w.entry.ID, w.entry.Epoch, ridsOf(reserved)))
	}
	w.eventually("all orders expired and are sold again", func() bool {
		snap, _, err := w.stock.Snapshot(w.context(), w.entry.ID, w.entry.Epoch)
		return err == nil && snap.Stock == 2000 && snap.Served == 1200
	})
	w.next(2)
	runs := w.runs(1)
	for _, run := range runs {
		if run.Deviations != 0 {
			rows, err := w.store.ReconciliationsOf(w.context(), run.Run)
			t.Errorf("%+v: %+v, %v", run, rows, err)
		}
	}
	t.Logf("%d runs", len(runs))
	for _, p := range []*process{one, two} {
		if strings.Contains(p.log.String(), "stores deviate") {
			t.Error("an alert under load")
		}
		w.stopped(p)
	}
}

func ridsOf(reservations []sale.Reservation) []string {
	rids := make([]string, len(reservations))
	for i, r := range reservations {
		rids[i] = r.RID
	}
	return rids
}

func TestReconcile_KilledBeforeTheRepairIsMadeGoodOnce(t *testing.T) {
	t.Parallel()
	w, p, _ := atRest(t, "worker.reconciled=kill")
	w.must(w.raw().IncrBy(w.context(), w.key("stock"), 2).Err())
	w.eventually("the worker is killed", func() bool { return strings.Contains(p.log.String(), "failpoint worker.reconciled: killed") })
	w.must(p.Kill()) // reaps it
	if snap, _, err := w.stock.Snapshot(w.context(), w.entry.ID, w.entry.Epoch); err != nil || snap.Stock != 8 {
		t.Fatalf("stock %d, %v: the window was missed", snap.Stock, err)
	}
	one := w.startWorker("", "-reconcile-every", "100ms")
	two := w.startWorker("", "-reconcile-every", "100ms")
	w.eventually("it is put right", func() bool {
		snap, _, err := w.stock.Snapshot(w.context(), w.entry.ID, w.entry.Epoch)
		return err == nil && snap.Stock == 6
	})
	for _, run := range w.next(3) {
		if run.Deviations != 0 {
			t.Errorf("afterwards: %+v", run)
		}
	}
	w.stopped(one)
	w.stopped(two)
}
