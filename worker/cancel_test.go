package main

import (
	"sync"
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
