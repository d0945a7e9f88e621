package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"sluice/shared/sale"
)

// overdue puts the end of the time to pay of every pending order into the past.
func (w *world) overdue() {
	w.t.Helper()
	execSQL(w.t, w.postgresURL, `UPDATE orders SET expires_at = now() - interval '1 second' WHERE sale_id = $1 AND state = 'pending'`, w.entry.ID)
}

// wantStock waits until every release is applied, then wants the units free in both
// stores.
func (w *world) wantStock(free int64) {
	w.t.Helper()
	w.eventually("every release is marked applied", func() bool {
		pending, err := w.store.UnappliedReleases(w.context(), 1000, nil)
		return err == nil && len(pending) == 0
	})
	state := w.orders()
	snapshot, _, err := w.stock.Snapshot(w.context(), w.entry.ID, w.entry.Epoch)
	w.must(err)
	if snapshot.Stock != free || state.Total-state.Held != free {
		w.t.Errorf("Redis has %d in stock, Postgres %d free, want %d", snapshot.Stock, state.Total-state.Held, free)
	}
}

func TestExpiry_UnitsAreSoldAgainOnceAndOldTicketsStayExpired(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 20)
	one, two := w.startWorker("", "-expire-every", "20ms"), w.startWorker("", "-expire-every", "20ms")
	_, opsOne := w.urlsOf(one)
	_, opsTwo := w.urlsOf(two)
	first := w.reserve(20)
	w.handOver(first)
	w.eventuallyAll(sale.StatusConfirmed, first)
	w.overdue()
	w.eventuallyAll(sale.StatusExpired, first)
	w.wantStock(20)

	again := w.reserve(20) // fails if fewer came back
	w.handOver(again)
	w.handOver(first) // redelivered
	w.eventuallyAll(sale.StatusConfirmed, again)
	w.eventuallyAcknowledged()
	w.eventuallyAll(sale.StatusExpired, first)
	w.wantStock(0)
	for metric, want := range map[string]float64{
		"sluice_expired_total": 20, "sluice_release_delay_seconds_count": 20, "sluice_expiry_scan_period_seconds": 0.04,
	} {
		w.eventually(metric+" is exported", func() bool { return w.metric(opsOne, metric)+w.metric(opsTwo, metric) == want })
	}
	if sum := w.metric(opsOne, "sluice_release_delay_seconds_sum") + w.metric(opsTwo, "sluice_release_delay_seconds_sum"); sum < 20 {
		t.Errorf("delays of 20 orders, each overdue for a second, add up to %v s", sum)
	}
	w.stopped(one)
	w.stopped(two)
}

// metric reads a metric without labels.
func (w *world) metric(ops, name string) float64 {
	w.t.Helper()
	_, text := get(ops + "/metrics")
	found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(text)
	if found == nil {
		w.t.Fatalf("no metric %s", name)
	}
	value, err := strconv.ParseFloat(found[1], 64)
	w.must(err)
	return value
}

func TestExpiry_WorkerKilledBeforeTheReleaseGivesBackOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 10)
	p := w.startWorker("worker.expired=kill", "-expire-every", "20ms")
	reserved := w.reserve(10)
	w.handOver(reserved)
	w.eventuallyAll(sale.StatusConfirmed, reserved)
	w.eventuallyAcknowledged()
	w.overdue()
	w.eventually("the worker is killed", func() bool { return strings.Contains(p.log.String(), "failpoint worker.expired: killed") })
	w.must(p.Kill()) // reaps it
	if pending, err := w.store.UnappliedReleases(w.context(), 100, nil); err != nil || len(pending) != 10 {
		t.Fatalf("%d releases left, error %v: the window was missed", len(pending), err)
	}
	if n := w.countTickets(reserved)[sale.StatusConfirmed]; n != 10 {
		t.Errorf("%d tickets are still confirmed", n)
	}

	one, two := w.startWorker("", "-expire-every", "20ms"), w.startWorker("", "-expire-every", "20ms")
	w.eventuallyAll(sale.StatusExpired, reserved)
	w.wantStock(10)
	w.stopped(one)
	w.stopped(two)
	w.wantStock(10)
}

func TestExpiry_BeforeTheTicketIsSettledClosesItAllTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 5)
	execSQL(t, w.postgresURL, `UPDATE sales SET hold = interval '0' WHERE sale_id = $1`, w.entry.ID)
	p := w.startWorker("", "-expire-every", "10ms")
	for range 20 {
		reserved := w.reserve(5)
		w.handOver(reserved)
		w.eventuallyAll(sale.StatusExpired, reserved)
		w.wantStock(5)
	}
	w.stopped(p)
}

// The loops of two workers and a hundred callers beside them release the same ten orders;
// the first worker dies between Redis and the mark.
func TestRelease_AHundredTimesAtOnceWithAKillInBetweenGivesBackOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 10)
	one := w.startWorker("worker.released_in_redis=kill", "-expire-every", "20ms")
	reserved := w.reserve(10)
	w.handOver(reserved)
	w.eventuallyAll(sale.StatusConfirmed, reserved)
	w.eventuallyAcknowledged()
	releases := make([]sale.Release, len(reserved))
	for i, r := range reserved {
		releases[i] = sale.Release{RID: r.RID, SaleID: w.entry.ID, Status: sale.StatusExpired, Give: 1}
	}
	w.overdue()
	w.eventually("the worker is killed", func() bool { return strings.Contains(one.log.String(), "failpoint worker.released_in_redis: killed") })
	w.must(one.Kill()) // reaps it
	if pending, err := w.store.UnappliedReleases(w.context(), 100, nil); err != nil || len(pending) != 10 {
		t.Fatalf("%d releases without a mark, error %v: the window was missed", len(pending), err)
	}
	two, three := w.startWorker("", "-expire-every", "20ms"), w.startWorker("", "-expire-every", "20ms")
	var group sync.WaitGroup
	for range 100 {
		group.Go(func() {
			_, results, err := w.stock.Release(w.context(), w.entry.ID, w.entry.Epoch, releases)
			if err != nil || slices.Contains(results, sale.ReleaseUnknown) {
				t.Errorf("%v, %v", results, err)
			}
		})
	}
	group.Wait()
	w.eventually("every release is marked", func() bool {
		pending, err := w.store.UnappliedReleases(w.context(), 100, nil)
		return err == nil && len(pending) == 0
	})
	w.wantStock(10)
	w.audit()
	w.stopped(two)
	w.stopped(three)
}
