package main

import (
	"testing"
	"time"

	"sluice/shared/sale"
)

// The first sale's hand-over is of an epoch that Postgres has yet to reach: its rebuild
// waits, as one does that has a long backlog.
func TestRebuild_OneThatWaitsForOrdersDoesNotKeepOthersWaiting(t *testing.T) {
	t.Parallel()
	w := newLosableWorld(t, 10)
	_, err := w.queue.Publish(w.context(), sale.HandOver{
		SaleID: w.entry.ID, Epoch: w.entry.Epoch + 100, PriceMinor: w.entry.PriceMinor, Currency: w.entry.Currency,
		Reservations: []sale.Reservation{{RID: newAttempt().RID, UserID: "ann", Slot: 1, Rank: 1, AcceptedAt: time.Now()}},
	})
	w.must(err)
	w.load(w.context(), 10)
	p := w.startWorker("", "-rebuilds", "1")
	sold := w.decided(3)
	w.flushRedis()
	w.live()
	w.eventuallyAll(sale.StatusConfirmed, sold)
	w.decided(7)
	w.stopped(p)
}
