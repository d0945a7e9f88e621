package main

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"sluice/shared/devstack"
	"sluice/shared/sale"
	"sluice/worker/internal/fulfil"
)

func TestWorker_HandOverBecomesConfirmedTickets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 10)
	var confirmed, served atomic.Int64
	stopResults, err := w.queue.SubscribeResults(func(_ string, results []sale.Result) {
		for _, r := range results {
			if r.Status == sale.StatusConfirmed && !r.PayBy.IsZero() {
				confirmed.Add(1)
			}
		}
	})
	w.must(err)
	defer stopResults()
	stopProgress, err := w.queue.SubscribeProgress(func(p sale.Progress) {
		if p.SaleID == w.entry.ID && p.Epoch == w.entry.Epoch {
			served.Store(p.Served)
		}
	})
	w.must(err)
	defer stopProgress()

	reserved := w.reserve(3)
	w.handOver(reserved)
	p := w.startWorker("")
	w.eventuallyAll(sale.StatusConfirmed, reserved)
	w.wantOneOrderEach(reserved)
	w.eventually("three results and their progress are told", func() bool { return confirmed.Load() == 3 && served.Load() == 3 })
	for _, o := range w.orders().Orders {
		if o.AmountMinor != w.entry.PriceMinor || o.Currency != w.entry.Currency || o.State != sale.OrderPending {
			t.Errorf("order %+v", o)
		}
	}
	w.stopped(p)
}

func TestWorker_KilledAtAFailpointIsFinishedByTheNext(t *testing.T) {
	t.Parallel()
	for _, point := range []string{fulfil.BeforeCommit, fulfil.AfterCommit, fulfil.BeforeAck} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 10)
			doomed := w.startWorker(point + "=kill")
			reserved := w.reserve(4)
			w.handOver(reserved)
			select {
			case <-doomed.Exited():
			case <-w.context().Done():
				t.Fatal("the failpoint was not met")
			}
			if doomed.Status() != "signal: killed" {
				t.Fatalf("the worker ended with %s", doomed.Status())
			}
			ordered, want := len(w.orders().Orders), 4
			if point == fulfil.BeforeCommit {
				want = 0
			}
			if ordered != want {
				t.Errorf("%d rows when it was killed, want %d", ordered, want)
			}
			p := w.startWorker("")
			w.eventuallyAll(sale.StatusConfirmed, reserved)
			w.eventuallyAcknowledged()
			w.stopped(p)
			w.wantOneOrderEach(reserved)
		})
	}
}

func TestWorker_ErrorAtAFailpointIsRetried(t *testing.T) {
	t.Parallel()
	for _, point := range []string{fulfil.BeforeCommit, fulfil.AfterCommit, fulfil.BeforeAck} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 10)
			p := w.startWorker(point + "=error@1")
			reserved := w.reserve(4)
			w.handOver(reserved)
			w.eventually("the fault was met", func() bool { return strings.Contains(p.log.String(), "consumer paused") })
			w.eventuallyAll(sale.StatusConfirmed, reserved)
			w.stopped(p)
			w.wantOneOrderEach(reserved)
		})
	}
}

func TestWorker_SameHandOverAHundredTimes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 20)
	reserved := w.reserve(10)
	for i := range 100 { // regrouped too
		w.handOver(reserved[i%7:])
	}
	w.handOver(reserved)
	p := w.startWorker("")
	w.eventuallyAll(sale.StatusConfirmed, reserved)
	w.eventuallyAcknowledged()
	w.stopped(p)
	w.wantOneOrderEach(reserved)
}

func TestWorker_TwoWorkersShareASale(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1000)
	one, two := w.startWorker(""), w.startWorker("")
	var all []sale.Reservation
	for range 60 {
		reserved := w.reserve(10)
		w.handOver(reserved)
		w.handOver(reserved[5:])
		all = append(all, reserved...)
	}
	w.eventuallyAll(sale.StatusConfirmed, all)
	w.eventuallyAcknowledged()
	w.stopped(one)
	w.stopped(two)
	w.wantOneOrderEach(all)
}

func TestWorker_RedisDownDuringSettleIsShownLater(t *testing.T) {
	t.Parallel()
	redis := ownServer(t, devstack.StartRedis)
	w := newWorldOn(t, 10, serverURLs{redis: redis.URL(), postgres: schemaURL(t)})
	p := w.startWorker("", "-redis-timeout", "300ms")
	first := w.reserve(1)
	w.handOver(first)
	w.eventuallyAll(sale.StatusConfirmed, first)

	reserved := w.reserve(5)
	w.must(redis.Stop())
	w.handOver(reserved)
	w.eventually("the orders wait to be shown", func() bool {
		unshown, err := w.store.Unshown(w.context(), 100, nil)
		return err == nil && len(unshown) == len(reserved)
	})
	w.must(redis.Restart(w.context()))
	w.live() // a Redis that was away is rebuilt, whatever it still has
	w.eventuallyAll(sale.StatusConfirmed, reserved)
	w.eventually("nothing waits to be shown", func() bool {
		unshown, err := w.store.Unshown(w.context(), 100, nil)
		return err == nil && len(unshown) == 0
	})
	w.stopped(p)
	w.wantOneOrderEach(append(first, reserved...))
}

func TestWorker_SweepsAStrandedReservation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 400)
	reserved := append(w.reserve(200), w.reserve(100)...) // more than one hand-over
	p := w.startWorker("")
	w.eventuallyAll(sale.StatusConfirmed, reserved)
	w.stopped(p)
	w.wantOneOrderEach(reserved)
}

func TestWorker_SurplusIsRejectedAndReleased(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 5)
	reserved := w.reserve(5)
	execSQL(t, w.postgresURL, `UPDATE sale_stock SET total = 2 WHERE sale_id = $1`, w.entry.ID)
	w.handOver(reserved)
	p := w.startWorker("")
	w.eventually("two are confirmed and three rejected", func() bool {
		counts := w.countTickets(reserved)
		return counts[sale.StatusConfirmed] == 2 && counts[sale.StatusRejected] == 3
	})
	w.eventually("every release is marked applied", func() bool {
		pending, err := w.store.UnappliedReleases(w.context(), 100, nil)
		return err == nil && len(pending) == 0
	})
	snapshot, _, err := w.stock.Snapshot(w.context(), w.entry.ID, w.entry.Epoch)
	w.must(err)
	if snapshot.Stock != 0 || snapshot.Served != 5 {
		t.Errorf("stock %d, served %d; want 0 and 5: a surplus gives nothing back", snapshot.Stock, snapshot.Served)
	}
	w.stopped(p)
}

func TestWorker_BadHandOversDoNotHoldUpTheOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 10)
	conn, err := nats.Connect(w.natsURL)
	w.must(err)
	defer conn.Close()
	_, err = conn.RequestWithContext(w.context(), "sluice.orders."+w.entry.ID, []byte("{"))
	w.must(err)
	stale := w.entry.Epoch + 1
	_, err = w.queue.Publish(w.context(), sale.HandOver{
		SaleID: w.entry.ID, Epoch: stale, PriceMinor: 1, Currency: "CNY", Reservations: []sale.Reservation{{
			RID: uuid.NewString(), UserID: "somebody", Slot: 1, Rank: 1, AcceptedAt: time.Now()}},
	})
	w.must(err)
	reserved := w.reserve(3)
	w.handOver(reserved)
	p := w.startWorker("")
	w.eventuallyAll(sale.StatusConfirmed, reserved)
	for _, line := range []string{"hand-over unreadable", "hand-over refused"} {
		if !strings.Contains(p.log.String(), line) {
			t.Errorf("%s is not in the log", line)
		}
	}
	w.stopped(p)
	w.wantOneOrderEach(reserved)
}

func TestWorker_PostgresDownIsWaitedOut(t *testing.T) {
	t.Parallel()
	postgres := ownServer(t, devstack.StartPostgres)
	w := newWorldOn(t, 100, serverURLs{redis: devstack.RedisForTest(t).URL(), postgres: postgres.URL()})
	p := w.startWorker("")
	all := w.reserve(5)
	w.handOver(all)
	w.eventuallyAll(sale.StatusConfirmed, all)
	w.must(postgres.Kill())
	for range 10 {
		reserved := w.reserve(3)
		w.handOver(reserved)
		all = append(all, reserved...)
	}
	w.eventually("the consumer pauses", func() bool { return strings.Contains(p.log.String(), "consumer paused") })
	w.must(postgres.Restart(w.context()))
	w.eventuallyAll(sale.StatusConfirmed, all)
	w.stopped(p)
	w.wantOneOrderEach(all)
}

func TestWorker_EndsGracefullyUnderLoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 5000)
	p := w.startWorker("")
	ended := make(chan error, 1)
	var all []sale.Reservation
	for i := range 40 {
		reserved := w.reserve(100)
		w.handOver(reserved)
		all = append(all, reserved...)
		if i == 10 {
			w.eventually("it is at work", func() bool { return w.countTickets(all[:1])[sale.StatusConfirmed] == 1 })
			go func() { ended <- p.Stop(syscall.SIGTERM, patience) }()
		}
	}
	w.must(<-ended)
	w.stopped(p)
	next := w.startWorker("")
	w.eventuallyAll(sale.StatusConfirmed, all)
	w.stopped(next)
	w.wantOneOrderEach(all)
}

func TestWorker_ServesSalesAnnouncedLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 10)
	p := w.startWorker("")
	first := w.reserve(1)
	w.handOver(first)
	w.eventuallyAll(sale.StatusConfirmed, first)
	w.load(w.context(), 10) // another sale from here on
	second := w.reserve(1)
	w.handOver(second)
	w.eventuallyAll(sale.StatusConfirmed, second)
	w.stopped(p)
}

func TestParse_RefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	good := []string{"-postgres-url", "postgres://x", "-jwt-hs256", testKey, "-jwt-issuer", testIssuer, "-jwt-audience", testAudience}
	none := func(string) string { return "" }
	if _, err := parse(good, none); err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][]string{
		{"-postgres-url", ""}, {"-jwt-hs256", "short"}, {"-jwt-hs256-old", "short"}, {"-jwt-leeway", "6m"}, {"-jwt-leeway", "-1s"}, {"-jwt-issuer", ""}, {"-jwt-audience", ""}, {"-postgres-conns", "8"}, {"-consumers", "0"},
		{"-pace-target", "0s"}, {"-pace-floor", "0"}, {"-pace-ceiling", "99"}, {"-pace-floor", "NaN"}, {"-pace-ceiling", "NaN"},
		{"-redis-pool", "0"}, {"-redis-timeout", "0s"}, {"-ack-wait", "1ms"}, {"-sweep-after", "0s"}, {"-expire-every", "0s"}, {"-drain", "-1s"}, {"extra"},
	} {
		t.Run(fmt.Sprint(bad), func(t *testing.T) {
			t.Parallel()
			_, err := parse(append(slices.Clone(good), bad...), none)
			if err == nil || strings.Contains(err.Error(), "\n") {
				t.Fatalf("got %v, want one line", err)
			}
		})
	}
}
