package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"sluice/shared/devstack"
	"sluice/shared/pgstore"
	"sluice/shared/sale"
	"sluice/worker/internal/fulfil"
)

const adminToken = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// startWithAdmin starts a worker that operators may ask, and returns its ops URL.
func (w *world) startWithAdmin(failpoints string, flags ...string) (p *process, ops string) {
	w.t.Helper()
	p = w.startWorker(failpoints, append([]string{"-admin-token", adminToken}, flags...)...)
	_, ops = w.urlsOf(p)
	return p, ops
}

// adjust asks for an adjustment and returns the status; 0 when nobody answered.
func (w *world) adjust(ops, id string, delta int64) int {
	body := fmt.Sprintf(`{"adjustment_id":%q,"delta":%d}`, id, delta)
	req, err := http.NewRequest(http.MethodPost, ops+"/admin/v1/sales/"+w.entry.ID+"/stock", strings.NewReader(body))
	if err != nil {
		w.t.Error(err)
		return 0
	}
	req.Header.Set("Authorization", "Bearer "+adminToken)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// resumed waits until Redis has heard that the sale goes on.
func (w *world) resumed() {
	w.t.Helper()
	w.eventually("Redis has the sale resumed", func() bool {
		snapshot, _, err := w.stock.Snapshot(w.context(), w.entry.ID, w.entry.Epoch)
		return err == nil && !snapshot.Paused
	})
}

// wantUnits waits until no adjustment is under way, then wants the units in both stores.
func (w *world) wantUnits(total, stock int64) {
	w.t.Helper()
	var st []sale.Standing
	w.eventually("every adjustment is finished", func() (done bool) {
		var err error
		st, err = w.store.Standings(w.context(), w.entry.ID)
		return err == nil && st[0].Adjusting == 0
	})
	snapshot, _, err := w.stock.Snapshot(w.context(), w.entry.ID, st[0].Epoch)
	w.must(err)
	if st[0].Total != total || snapshot.Total != total || snapshot.Stock != stock || snapshot.SoldOut != (stock == 0) {
		w.t.Errorf("Postgres has a total of %d, Redis of %d, %d in stock, sold out %v; want %d and %d",
			st[0].Total, snapshot.Total, snapshot.Stock, snapshot.SoldOut, total, stock)
	}
}

func (w *world) killedAt(p *process, point string) {
	w.t.Helper()
	w.eventually("the worker is killed", func() bool { return strings.Contains(p.log.String(), "failpoint "+point+": killed") })
	w.must(p.Kill()) // reaps it
}

var adjustedPoints = []string{fulfil.AdjustedWritten, fulfil.AdjustedInRedis, fulfil.AdjustedFinished}

func TestAdjustment_AskedAHundredTimesOfTwoWorkersOfWhichOneDiesHappensOnce(t *testing.T) {
	t.Parallel()
	deltas := map[string]int64{"more": 40, "less": -30, "some-more": 5, "some-less": -5}
	for _, point := range adjustedPoints {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 100)
			dying, opsDying := w.startWithAdmin(point + "=kill")
			other, opsOther := w.startWithAdmin("")
			sold := w.reserve(10)
			w.handOver(sold)
			var calls sync.WaitGroup
			var applied atomic.Int64
			for n := range 100 {
				for id, delta := range deltas {
					calls.Go(func() {
						switch status := w.adjust([]string{opsDying, opsOther}[n%2], id, delta); status {
						case 200:
							applied.Add(1)
						case 0, 202: // it died, or could not tell
						default:
							t.Errorf("%s: %d", id, status)
						}
					})
				}
			}
			more := w.reserve(20) // beside them
			w.handOver(more)
			calls.Wait()
			if applied.Load() < 100 {
				t.Errorf("%d of 400 calls were told that it happened", applied.Load())
			}
			w.killedAt(dying, point)
			w.eventuallyAll(sale.StatusConfirmed, append(sold, more...))
			w.wantUnits(110, 80)
			for id, delta := range deltas {
				if status := w.adjust(opsOther, id, delta); status != 200 {
					t.Errorf("%s repeated: %d", id, status)
				}
			}
			w.wantUnits(110, 80)
			w.audit()
			w.stopped(other)
		})
	}
}

// Nobody asks again: a loop finishes it.
func TestAdjustment_OfAWorkerThatDiedIsFinishedByAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 10)
	total := int64(10)
	for _, point := range adjustedPoints {
		for _, delta := range []int64{5, -4} {
			p, ops := w.startWithAdmin(point + "=kill")
			id := fmt.Sprint(point, ":", delta)
			if status := w.adjust(ops, id, delta); status != 0 {
				t.Errorf("%s: answered %d", id, status)
			}
			w.killedAt(p, point)
			st, err := w.store.Standings(w.context(), w.entry.ID)
			w.must(err)
			if left := st[0].Adjusting; (left == 1) != (point != fulfil.AdjustedFinished) {
				t.Errorf("%s: %d unfinished: the window was missed", id, left)
			}
			total += delta
			next, _ := w.startWithAdmin("")
			w.wantUnits(total, total)
			w.stopped(next)
		}
	}
	w.audit()
}

func TestAdjustment_TakesOnlyWhatIsUnsoldAndSoldOutFollows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 10)
	p, ops := w.startWithAdmin("")
	sold := w.reserve(8)
	w.handOver(sold)
	w.eventuallyAll(sale.StatusConfirmed, sold)
	for range 2 {
		w.wantAnswer(w.operate(ops, "POST", "/admin/v1/sales/"+w.entry.ID+"/stock", `{"adjustment_id":"a","delta":-3}`), 409, `"unsold":2`)
	}
	w.wantUnits(10, 2)
	if status := w.adjust(ops, "b", -2); status != 200 {
		t.Errorf("the unsold: %d", status)
	}
	w.wantUnits(8, 0)
	w.wantAnswer(w.operate(ops, "POST", "/admin/v1/sales/"+w.entry.ID+"/stock", `{"adjustment_id":"c","delta":-1}`), 409, `"unsold":0`)
	if status := w.adjust(ops, "d", 3); status != 200 {
		t.Errorf("more: %d", status)
	}
	w.wantUnits(11, 3)
	again := w.reserve(3)
	w.handOver(again)
	w.eventuallyAll(sale.StatusConfirmed, again)
	w.wantAnswer(w.operate(ops, "POST", "/admin/v1/sales/"+w.entry.ID+"/stock", `{"adjustment_id":"a","delta":-3}`), 409, `"unsold":2`)
	w.wantUnits(11, 0)
	w.audit()
	w.stopped(p)
}

// Buyers and operators race for the last units.
func TestAdjustment_WhileSellingNeverTakesAUnitTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 200)
	p, ops := w.startWithAdmin("")
	var taken, sold atomic.Int64
	var calls sync.WaitGroup
	for n := range 30 {
		calls.Go(func() {
			if w.adjust(ops, fmt.Sprint("less-", n), -5) == 200 {
				taken.Add(5)
			}
		})
		calls.Go(func() {
			attempts := make([]sale.Attempt, 5)
			for i := range attempts {
				attempts[i] = newAttempt()
			}
			_, decisions, err := w.stock.Reserve(w.context(), w.entry.ID, w.entry.Epoch, attempts)
			if err != nil {
				t.Error(err)
				return
			}
			var reserved []sale.Reservation
			for _, d := range decisions {
				if d.Code == sale.DecidedAccepted {
					reserved = append(reserved, d.Ticket.Reservation)
				}
			}
			if sold.Add(int64(len(reserved))); len(reserved) > 0 {
				w.handOver(reserved)
			}
		})
	}
	calls.Wait()
	w.eventually("every order is held", func() bool { return w.orders().Held == sold.Load() })
	w.wantUnits(200-taken.Load(), 200-taken.Load()-sold.Load())
	w.audit()
	w.stopped(p)
}

// rebuild makes the next epoch of a sale without orders, as package load does, but for
// the wait for gateways.
func (w *world) rebuild() {
	w.t.Helper()
	ctx := w.context()
	_, err := w.store.RebuildSale(ctx, sale.Actor{Who: "test"}, w.entry.ID, 0)
	w.must(err)
	begun, err := w.store.BeginLoad(ctx, w.entry.ID, 0)
	w.must(err)
	const token = "again"
	w.must(w.stock.Fence(ctx, begun.ID, begun.Epoch, token))
	var live sale.Live
	w.must(w.store.Count(ctx, begun.ID, begun.Epoch, sale.LoadParts{
		Live: func(l sale.Live) error { live = l; return nil },
		Adjusted: func(page []sale.Adjustment) error {
			return w.stock.LoadAdjusted(ctx, begun.ID, begun.Epoch, token, page)
		},
	}))
	w.must(w.stock.Flip(ctx, token, live))
	w.entry, err = w.store.FinishLoad(ctx, begun.ID, begun.Epoch)
	w.must(err)
}

func TestAdjustment_HappensOnceAcrossARebuildOfRedis(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 10)
	total := int64(10)
	for _, point := range adjustedPoints {
		for _, delta := range []int64{5, -4, -100} {
			p, ops := w.startWithAdmin(point + "=kill")
			id := fmt.Sprint(point, ":", delta)
			w.adjust(ops, id, delta)
			w.killedAt(p, point)
			w.rebuild()
			next, ops := w.startWithAdmin("")
			want := 200
			if total+delta < 0 {
				want = 409
			} else {
				total += delta
			}
			w.wantUnits(total, total)
			if status := w.adjust(ops, id, delta); status != want {
				t.Errorf("%s repeated: %d, want %d", id, status, want)
			}
			w.wantUnits(total, total)
			w.stopped(next)
		}
	}
	w.audit()
}

// Orders, adjustments and all.
func TestAdjustment_StandsAfterARebuildThatAnOperatorAskedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 10)
	p, ops := w.startWithAdmin("")
	sold := w.reserve(4)
	w.handOver(sold)
	w.eventuallyAll(sale.StatusConfirmed, sold)
	w.adjust(ops, "more", 5)
	w.adjust(ops, "less", -3)
	w.wantAnswer(w.operate(ops, "POST", "/admin/v1/sales/"+w.entry.ID+"/rebuild", ""), 202, `"rebuilding"`)
	w.eventually("the sale is live again", func() bool {
		e, err := w.store.Entry(w.context(), w.entry.ID)
		w.must(err)
		w.entry = e
		return e.Epoch > 1 && !e.Rebuilding
	})
	for id, delta := range map[string]int64{"more": 5, "less": -3} {
		if status := w.adjust(ops, id, delta); status != 200 {
			t.Errorf("%s repeated: %d", id, status)
		}
	}
	w.wantUnits(12, 8)
	w.eventuallyAll(sale.StatusConfirmed, sold)
	w.audit()
	w.stopped(p)
}

// The row is all there is of it until Redis is back, at another epoch.
func TestAdjustment_BegunWhileRedisIsAwayHappensOnceItIsBack(t *testing.T) {
	t.Parallel()
	redis := ownServer(t, devstack.StartRedis)
	w := newWorldOn(t, 10, serverURLs{redis: redis.URL(), postgres: schemaURL(t)})
	p, ops := w.startWithAdmin("")
	w.must(redis.Kill())
	deltas := map[string]int64{"more": 5, "less": -3}
	for id, delta := range deltas {
		if status := w.adjust(ops, id, delta); status != 202 {
			t.Errorf("%s: %d", id, status)
		}
	}
	w.must(redis.Restart(w.context()))
	w.wantUnits(12, 12)
	for id, delta := range deltas {
		if status := w.adjust(ops, id, delta); status != 200 {
			t.Errorf("%s repeated: %d", id, status)
		}
	}
	st, err := w.store.Standings(w.context(), w.entry.ID)
	w.must(err)
	w.entry = st[0].Entry
	w.wantUnits(12, 12)
	w.audit()
	w.stopped(p)
}

// The sequences of a stream that was made anew are below those that the rebuild noted.
func TestOperators_DeadLetterOfBeforeARebuildHoldsNoUnit(t *testing.T) {
	t.Parallel()
	w := newLosableWorld(t, 10)
	p, ops := w.startWithAdmin("")
	gone := w.reserve(1)
	letter := w.newLetter(pgstore.Unreadable{SaleID: w.entry.ID, Epoch: 1, Sequence: 1001, Header: []byte(letterHeader), Body: letterBody(gone[0])})
	w.flushRedis()
	w.live()
	execSQL(t, w.postgresURL, `UPDATE rebuilds SET last_seq = 1000`)
	w.wantAnswer(w.operate(ops, "POST", fmt.Sprintf("/admin/v1/dead-letters/%d/retry", letter), ""), 409, "/problems/decided")
	if e := w.wantAudited(); e.Held != 0 || e.Redis.Stock != 10 {
		t.Errorf("%d held, %d in stock", e.Held, e.Redis.Stock)
	}
	w.stopped(p)
}
