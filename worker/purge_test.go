package main

import (
	"strings"
	"testing"

	"sluice/shared/jetqueue"
	"sluice/shared/sale"
)

func TestPurge_AcknowledgedHandOversGoOnceTheyAreOldAndTheSaleGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 40)
	p := w.startWorker("", "-replay-horizon", "1s")
	var all []sale.Reservation
	for range 20 {
		one := w.reserve(1)
		w.handOver(one)
		all = append(all, one...)
	}
	w.eventuallyAll(sale.StatusConfirmed, all)
	w.eventually("all but the last hand-over are purged", func() bool {
		u, err := w.queue.Usage(w.context())
		return err == nil && u.Messages[w.entry.ID] == 1
	})
	_, ops := w.urlsOf(p)
	w.eventually("what was purged is counted", func() bool { return w.metric(ops, "sluice_hand_overs_purged_total") == 19 })
	w.handOver(all) // once more: known
	more := w.reserve(20)
	w.handOver(more)
	w.eventuallyAll(sale.StatusConfirmed, more)
	w.eventuallyAcknowledged()
	w.wantOneOrderEach(append(all, more...))
	w.stopped(p)
}

func TestPurge_AnAlertFiresBeforeACapIsReached(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 40)
	w.must(w.queue.Ensure(w.context(), jetqueue.StreamConfig{MaxMessagesPerSale: 10}))
	p := w.startWorker("")
	_, ops := w.urlsOf(p)
	const metric, alert = `sluice_stream_used_ratio{cap="hand_overs_of_a_sale"} `, `"alert":"StreamNearlyFull"`
	for i := range 8 {
		if i == 7 && strings.Contains(p.log.String(), alert) {
			t.Error("warned at 7 of 10")
		}
		w.handOver(w.reserve(1))
	}
	w.eventually("it warns at 8 of 10", func() bool { return strings.Contains(p.log.String(), alert) })
	w.eventually("the metric says so", func() bool {
		_, text := get(ops + "/metrics")
		return strings.Contains(text, metric+"0.8")
	})
	w.stopped(p)
}
