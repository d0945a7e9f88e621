package main

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/shared/devstack"
	"sluice/shared/faultproxy"
	"sluice/shared/sale"
)

// pace is what a worker says of its own.
type pace struct {
	Paused, Applied bool
	Consumers       int
	InFlight        int    `json:"in_flight"`
	LimitedBy       string `json:"limited_by"`
}

func (w *world) pace(ops string) (p pace) {
	w.t.Helper()
	w.must(json.Unmarshal([]byte(w.operate(ops, "GET", "/admin/v1/pace", "").body), &p))
	return p
}

// handOverAll hands reservations over, up to n in one.
func (w *world) handOverAll(reservations []sale.Reservation, n int) {
	w.t.Helper()
	for part := range slices.Chunk(reservations, n) {
		w.handOver(part)
	}
}

// reserveMany is reserve for more than one call to Redis may bring.
func (w *world) reserveMany(n int) (all []sale.Reservation) {
	w.t.Helper()
	for len(all) < n {
		all = append(all, w.reserve(min(250, n-len(all)))...)
	}
	return all
}

// lockRow keeps the orders of a sale waiting until unlock is called.
func (w *world) lockRow(saleID string) (unlock func()) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	conn, err := pgx.Connect(ctx, w.postgresURL)
	w.must(err)
	tx, err := conn.Begin(ctx)
	w.must(err)
	_, err = tx.Exec(ctx, `SELECT FROM sales WHERE sale_id = $1 FOR UPDATE`, saleID)
	w.must(err)
	unlock = func() {
		_ = tx.Rollback(ctx) // again, at the end
		_ = conn.Close(ctx)
		cancel()
	}
	w.t.Cleanup(unlock)
	return unlock
}

func TestPace_SeveralTransactionsOfOneSaleAtOnceDecideEachReservationOnce(t *testing.T) {
	t.Parallel()
	total := 6000
	if devstack.Long() {
		total = 50_000
	}
	w := newWorld(t, int64(total))
	reserved := w.reserveMany(total)
	w.handOverAll(reserved, 100)
	w.handOverAll(reserved[total/2:], 70) // known rids, regrouped, in other transactions at the same time
	unlock := w.lockRow(w.entry.ID)
	p, ops := w.startWithAdmin("", "-consumers", "4")
	w.eventually("two transactions are in flight", func() bool { return w.pace(ops).InFlight >= 2 })
	unlock()
	w.eventuallyAll(sale.StatusConfirmed, reserved)
	w.eventuallyAcknowledged()
	w.wantOneOrderEach(reserved)
	if got := w.metric(ops, "sluice_redelivered_total"); got != 0 {
		t.Errorf("%v redelivered", got)
	}
	w.stopped(p)
}

func TestPace_ASaleWhoseTransactionsHangLeavesTheOthersTheirTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4000)
	p, ops := w.startWithAdmin("", "-consumers", "2", "-postgres-conns", "3", "-statement-timeout", "20s")
	stuck, stuckID := w.reserveMany(4000), w.entry.ID
	unlock := w.lockRow(stuckID)
	w.handOverAll(stuck, 250)
	w.eventually("all consumers hang", func() bool { return w.pace(ops).InFlight == 2 })
	stuckEntry := w.entry
	w.load(w.context(), 100) // another sale from here on
	for range 10 {
		one := w.reserve(1)
		begun := time.Now()
		w.handOver(one)
		w.eventuallyAll(sale.StatusConfirmed, one)
		if waited := time.Since(begun); waited > 3*time.Second { // promised is one
			t.Errorf("an order of another sale took %v", waited)
		}
	}
	unlock()
	w.entry = stuckEntry
	w.eventuallyAll(sale.StatusConfirmed, stuck)
	w.wantOneOrderEach(stuck)
	if got := w.metric(ops, "sluice_redelivered_total"); got != 0 {
		t.Errorf("%v redelivered", got)
	}
	w.stopped(p)
}

func TestPace_OperatorsPauseItOnEveryWorkerAndNothingIsRedelivered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 100)
	one, opsOne := w.startWithAdmin("")
	two, opsTwo := w.startWithAdmin("")
	w.wantAnswer(w.operate(opsOne, "POST", "/admin/v1/pace/pause", ""), 200, `"paused":true`)
	w.eventually("both workers have paused", func() bool {
		a, b := w.pace(opsOne), w.pace(opsTwo)
		return a.Paused && a.Applied && b.Paused && b.Applied
	})
	reserved := w.reserve(50)
	w.handOverAll(reserved, 5)
	late, opsLate := w.startWithAdmin("") // one that starts meanwhile
	w.eventually("it has heard of it", func() bool { return w.pace(opsLate).Applied })
	const ackWait = time.Second
	for begun := time.Now(); time.Since(begun) < 3*ackWait; time.Sleep(100 * time.Millisecond) {
		if n := len(w.orders().Orders); n != 0 {
			t.Fatalf("%d orders written while the pace is paused", n)
		}
	}
	w.wantAnswer(w.operate(opsTwo, "POST", "/admin/v1/pace/resume", ""), 200, `"paused":false`)
	w.eventuallyAll(sale.StatusConfirmed, reserved)
	w.wantOneOrderEach(reserved)
	for _, ops := range []string{opsOne, opsTwo, opsLate} {
		if got := w.metric(ops, "sluice_redelivered_total"); got != 0 {
			t.Errorf("%v redelivered", got)
		}
	}
	for _, p := range []*process{one, two, late} {
		w.stopped(p)
	}
}

func TestPace_APausedWorkerStops(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 10)
	w.must(w.store.SetPacePaused(w.context(), sale.Actor{Who: "test"}, true))
	p := w.startWorker("")
	w.urlsOf(p)
	reserved := w.reserve(10)
	w.handOver(reserved)
	w.stopped(p)
	w.must(w.store.SetPacePaused(w.context(), sale.Actor{Who: "test"}, false))
	w.stopped(func() *process { // what the first had in hand is another's at once
		p := w.startWorker("")
		w.eventuallyAll(sale.StatusConfirmed, reserved)
		return p
	}())
}

func TestPace_ADatabaseSlowerThanTheAckWaitMakesNothingRedelivered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3000)
	proxy, through, err := faultproxy.StartFor(w.postgresURL)
	w.must(err)
	t.Cleanup(func() { _ = proxy.Close() })
	reserved := w.reserveMany(3000)
	w.handOverAll(reserved, 100)
	direct := w.postgresURL
	w.postgresURL = through
	p, ops := w.startWithAdmin("", "-consumers", "4")
	proxy.Delay(400 * time.Millisecond) // of each of a transaction's answers; the ack wait is a second
	w.postgresURL = direct
	w.eventuallyAll(sale.StatusConfirmed, reserved)
	w.wantOneOrderEach(reserved)
	if got := w.metric(ops, "sluice_redelivered_total"); got != 0 {
		t.Errorf("%v redelivered", got)
	}
	proxy.Heal()
	w.stopped(p)
}
