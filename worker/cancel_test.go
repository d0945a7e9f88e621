package main

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"sluice/shared/sale"
)

func TestCancel_AHundredTimesAtOnceThroughTwoWorkersGivesBackOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	one, two := w.startWorker("", "-expire-every", "10ms"), w.startWorker("", "-expire-every", "10ms")
	buyersOne, _ := w.urlsOf(one)
	buyersTwo, _ := w.urlsOf(two)
	reserved := w.reserve(3)
	w.handOver(reserved)
	w.eventuallyAll(sale.StatusConfirmed, reserved)
	ann := reserved[0]

	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			buyers := [...]string{buyersOne, buyersTwo}[i%2]
			w.wantAnswer(w.post(buyers, "/v1/orders/"+ann.RID+"/cancel", ann.UserID, "{}"), 200, `"cancelled"`)
		})
	}
	group.Wait()
	w.eventuallyAll(sale.StatusCancelled, reserved[:1])
	w.wantStock(1)
	w.reserve(1) // sold again, to somebody else
	if n := w.countTickets(reserved)[sale.StatusConfirmed]; n != 2 {
		t.Errorf("%d of the others are confirmed, want 2", n)
	}
	w.stopped(one)
	w.stopped(two)
}

func TestCancel_RacingExpiryLeavesTheStoresEven(t *testing.T) {
	t.Parallel()
	const races = 200
	w := newWorld(t, races)
	one, two := w.startWorker("", "-expire-every", "10ms"), w.startWorker("", "-expire-every", "10ms")
	buyersOne, _ := w.urlsOf(one)
	buyersTwo, _ := w.urlsOf(two)
	reserved := w.reserve(races)
	w.handOver(reserved)
	w.eventuallyAll(sale.StatusConfirmed, reserved)
	execSQL(t, w.postgresURL, `UPDATE orders SET expires_at = clock_timestamp() + random() * interval '1 second' WHERE sale_id = $1`, w.entry.ID)

	var cancelled atomic.Int64
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			buyers := [...]string{buyersOne, buyersTwo}[i%2]
			for n := i; n < races; n += 8 {
				r := reserved[n]
				switch got := w.post(buyers, "/v1/orders/"+r.RID+"/cancel", r.UserID, ""); {
				case got.status == 200:
					cancelled.Add(1)
				case got.status != 409 || !strings.Contains(got.body, `"order_status":"expired"`):
					t.Errorf("answer %d %s", got.status, got.body)
				}
			}
		})
	}
	group.Wait()
	w.eventually("every ticket is closed as its buyer was told", func() bool {
		counts := w.countTickets(reserved)
		return counts[sale.StatusCancelled] == int(cancelled.Load()) && counts[sale.StatusExpired] == races-int(cancelled.Load())
	})
	t.Logf("%d cancelled, %d expired", cancelled.Load(), races-cancelled.Load())
	w.wantStock(races)
	w.stopped(one)
	w.stopped(two)
}
