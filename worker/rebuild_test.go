package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"sluice/shared/devstack"
	"sluice/shared/evidence"
	"sluice/shared/load"
	"sluice/shared/sale"
)

// newLosableWorld is a world whose Redis is its own, to be lost.
func newLosableWorld(t *testing.T, total int64) *world {
	t.Helper()
	w := newWorldOn(t, total, serverURLs{redis: ownServer(t, devstack.StartRedis).URL(), postgres: schemaURL(t)})
	return w
}

func (w *world) flushRedis() {
	w.t.Helper()
	options, err := redis.ParseURL(w.redisURL)
	w.must(err)
	raw := redis.NewClient(options)
	defer raw.Close()
	w.must(raw.FlushAll(w.context()).Err())
}

// live waits until the sale is live again and goes on with its new epoch.
func (w *world) live() {
	w.t.Helper()
	w.eventually("the sale is live at a later epoch", func() bool {
		e, err := w.store.Entry(w.context(), w.entry.ID)
		w.must(err)
		if e.Rebuilding || e.Epoch <= w.entry.Epoch {
			return false
		}
		if _, _, err := w.stock.Snapshot(w.context(), e.ID, e.Epoch); err != nil {
			return false
		}
		w.entry = e
		return true
	})
}

func (w *world) wantAudited() sale.Evidence {
	w.t.Helper()
	stores := evidence.Stores{Postgres: w.store, Redis: w.stock, Stream: w.queue}
	e, verdict, err := stores.Audit(w.context(), w.entry.ID, nil, patience/2)
	w.must(err)
	if !verdict.Pass || !verdict.AtRest {
		w.t.Errorf("at rest %t, violations %v", verdict.AtRest, verdict.Violations)
	}
	return e
}

// decided sells n units and waits for their orders.
func (w *world) decided(n int) []sale.Reservation {
	w.t.Helper()
	reservations := w.reserve(n)
	w.handOver(reservations)
	rids := make([]string, n)
	for i, r := range reservations {
		rids[i] = r.RID
	}
	w.must(w.stock.HandedOver(w.context(), w.entry.ID, w.entry.Epoch, rids))
	w.eventuallyAll(sale.StatusConfirmed, reservations)
	w.eventuallyAcknowledged()
	return reservations
}

func TestRebuild_KilledAtAnyPointIsTakenUpByAnother(t *testing.T) {
	t.Parallel()
	points := []string{load.Fenced, load.Counted, load.Flipped}
	if devstack.Long() {
		points = load.Points()
	}
	for _, point := range points {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			w := newLosableWorld(t, 50)
			first := w.startWorker("rebuild." + point + "=kill")
			sold := w.decided(10)
			w.flushRedis()
			<-first.Exited()
			if !strings.Contains(first.log.String(), "failpoint rebuild."+point+": killed") {
				t.Fatalf("not killed at %s", point)
			}
			second := w.startWorker("")
			w.live()
			w.eventuallyAll(sale.StatusConfirmed, sold)
			w.decided(40) // and not one more
			e := w.wantAudited()
			if e.Held != 50 || e.Redis.Stock != 0 {
				t.Errorf("%d held, %d in stock", e.Held, e.Redis.Stock)
			}
			w.eventually("the catalogue says so", func() bool {
				all, err := w.queue.Entries(w.context())
				w.must(err)
				return slices.ContainsFunc(all, func(e sale.Entry) bool {
					return e.ID == w.entry.ID && e.Epoch == w.entry.Epoch && !e.Rebuilding
				})
			})
			w.stopped(second)
		})
	}
}

// A worker that is frozen keeps its connections, and with them whatever they lock.
func TestRebuild_OfAFrozenWorkerIsTakenUpByAnother(t *testing.T) {
	t.Parallel()
	w := newLosableWorld(t, 50)
	first := w.startWorker("")
	sold := w.decided(10)
	w.flushRedis()
	w.eventually("a rebuild is under way", func() bool { return strings.Contains(first.log.String(), "rebuild begins") })
	w.must(syscall.Kill(first.PID(), syscall.SIGSTOP))
	second := w.startWorker("")
	w.live()
	w.eventuallyAll(sale.StatusConfirmed, sold)
	w.must(syscall.Kill(first.PID(), syscall.SIGCONT)) // in the middle of its steps
	w.decided(40)                                      // and not one more
	if e := w.wantAudited(); e.Held != 50 || e.Redis.Stock != 0 {
		t.Errorf("%d held, %d in stock", e.Held, e.Redis.Stock)
	}
	w.stopped(first)
	w.stopped(second)
}

// The lock is lost as soon as it is held, so that every worker rebuilds beside the others.
func TestRebuild_TwoAtOnceDoNoHarm(t *testing.T) {
	t.Parallel()
	w := newLosableWorld(t, 50)
	workers := []*process{w.startWorker(""), w.startWorker(""), w.startWorker("")}
	sold := w.decided(20)
	ctx, cancel := context.WithCancel(t.Context())
	breaking := make(chan int, 1)
	breakLocks := `SELECT count(pg_terminate_backend(pid)) FROM pg_locks
		WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND granted AND
		(classid::bigint << 32 | objid::bigint) = hashtextextended('sluice/sale/' || current_schema() || '/` + w.entry.ID + `', 0)`
	go func() {
		broken := 0
		for ctx.Err() == nil {
			broken += w.count(breakLocks)
			time.Sleep(50 * time.Millisecond)
		}
		breaking <- broken
	}()
	w.flushRedis()
	w.eventually("two rebuilds are under way", func() bool {
		begun := 0
		for _, p := range workers {
			if strings.Contains(p.log.String(), "rebuild begins") {
				begun++
			}
		}
		return begun >= 2
	})
	w.live()
	cancel()
	if broken := <-breaking; broken == 0 {
		t.Error("no lock was lost")
	}
	w.eventuallyAll(sale.StatusConfirmed, sold)
	w.decided(30)
	if e := w.wantAudited(); e.Held != 50 || e.Redis.Stock != 0 {
		t.Errorf("%d held, %d in stock", e.Held, e.Redis.Stock)
	}
	for _, p := range workers {
		w.stopped(p)
	}
}

func TestRebuild_HandOversBehindTheFenceAreOrderedAndLateOnesSuperseded(t *testing.T) {
	t.Parallel()
	w := newLosableWorld(t, 50)
	old := w.entry
	p := w.startWorker("")
	w.decided(5)
	inFlight, late := w.reserve(3), w.reserve(4)
	w.flushRedis()       // a Redis that survives would have the late ones handed over in time
	w.handOver(inFlight) // as a gateway that is about to answer 202
	w.live()
	w.eventuallyAll(sale.StatusConfirmed, inFlight)
	now := w.entry
	w.entry = old
	w.handOver(append(slices.Clone(late), inFlight...)) // as nobody does any more
	w.entry = now
	w.eventuallyAcknowledged()
	if n := w.countTickets(late); len(n) != 0 {
		t.Errorf("late ones have tickets: %v", n)
	}
	if n := w.count(fmt.Sprintf(`SELECT count(*) FROM orders JOIN releases ON rid = id WHERE orders.reason = 'superseded' AND applied_at IS NOT NULL AND accepted_at > '%s'`,
		time.Now().Add(-time.Hour).Format(time.RFC3339))); n != len(late) {
		t.Errorf("%d superseded, want %d", n, len(late))
	}
	if e := w.wantAudited(); e.Held != 8 || e.Redis.Stock != 42 {
		t.Errorf("%d held, %d in stock", e.Held, e.Redis.Stock)
	}
	w.stopped(p)
}

// The stream was lost with hand-overs in it, or their gateway died: only the tickets of
// the epoch that is over know of them.
func TestRebuild_HandsOverAgainWhatTheStreamHasLost(t *testing.T) {
	t.Parallel()
	w := newLosableWorld(t, 50)
	p := w.startWorker("")
	w.decided(5)
	lost := w.reserve(45)
	rids := make([]string, 40)
	for i := range rids {
		rids[i] = lost[i].RID
	}
	w.must(w.stock.HandedOver(w.context(), w.entry.ID, w.entry.Epoch, rids))
	_, requested, err := w.store.RequestRebuild(w.context(), w.entry.ID, w.entry.Epoch, 0)
	w.must(err)
	if !requested {
		t.Fatal("not requested")
	}
	w.live()
	w.eventuallyAll(sale.StatusConfirmed, lost)
	if e := w.wantAudited(); e.Held != 50 || e.Redis.Stock != 0 {
		t.Errorf("%d held, %d in stock", e.Held, e.Redis.Stock)
	}
	w.stopped(p)
}

// What closes between the count and the flip is given back once: its ticket was loaded open.
func TestRebuild_OrdersCancelledMeanwhileAreGivenBackOnce(t *testing.T) {
	t.Parallel()
	w := newLosableWorld(t, 20)
	p := w.startWorker("")
	sold := w.decided(20)
	done := make(chan error, 1)
	w.flushRedis()
	go func() {
		for _, r := range sold {
			if _, _, _, err := w.store.Cancel(context.WithoutCancel(t.Context()), r.UserID, r.RID); err != nil {
				done <- err
				return
			}
			time.Sleep(350 * time.Millisecond) // all through the rebuild, and beyond
		}
		done <- nil
	}()
	w.live()
	w.must(<-done)
	w.eventuallyAll(sale.StatusCancelled, sold)
	if e := w.wantAudited(); e.Held != 0 || e.Redis.Stock != 20 || e.Redis.Given != 20 {
		t.Errorf("%d held, %d in stock, %d given", e.Held, e.Redis.Stock, e.Redis.Given)
	}
	w.stopped(p)
}

func TestRebuild_LostAgainMeanwhileStartsOver(t *testing.T) {
	t.Parallel()
	w := newLosableWorld(t, 20)
	p := w.startWorker("")
	sold := w.decided(5)
	w.flushRedis()
	options, err := redis.ParseURL(w.redisURL)
	w.must(err)
	raw := redis.NewClient(options)
	defer raw.Close()
	w.eventually("the sale is fenced", func() bool {
		return raw.HGet(w.context(), "sluice:{"+w.entry.ID+"}:meta", "state").Val() == "loading"
	})
	w.flushRedis()
	w.live()
	if w.entry.Epoch != 3 {
		t.Errorf("epoch %d, want one of its own for the second run", w.entry.Epoch)
	}
	w.eventuallyAll(sale.StatusConfirmed, sold)
	w.decided(15)
	if e := w.wantAudited(); e.Held != 20 || e.Redis.Stock != 0 {
		t.Errorf("%d held, %d in stock", e.Held, e.Redis.Stock)
	}
	w.stopped(p)
}

// A sale of another shard, or one that is merely not loaded, is nobody's loss.
func TestRebuild_LeavesOtherSalesAlone(t *testing.T) {
	t.Parallel()
	w := newLosableWorld(t, 10)
	kept := w.entry
	w.load(w.context(), 10)
	options, err := redis.ParseURL(w.redisURL)
	w.must(err)
	raw := redis.NewClient(options)
	defer raw.Close()
	p := w.startWorker("")
	w.must(raw.Del(w.context(), "sluice:{"+w.entry.ID+"}:1:stock").Err()) // in part is lost, too
	for range 20 {
		_, decisions, err := w.stock.Reserve(w.context(), kept.ID, kept.Epoch, []sale.Attempt{{RID: uuid.Must(uuid.NewV7()).String(), UserID: "ann"}})
		w.must(err)
		if decisions[0].Ticket.UserID != "ann" {
			t.Errorf("decided %d", decisions[0].Code)
		}
	}
	w.live()
	if e, err := w.store.Entry(w.context(), kept.ID); err != nil || e.Epoch != kept.Epoch || e.Rebuilding {
		t.Errorf("the other sale is %+v, %v", e, err)
	}
	w.stopped(p)
}

// As after the stream was lost: answered 202, struck off, and in no hand-over any more.
func TestRebuild_KeepsWhatOnlyRedisHas(t *testing.T) {
	t.Parallel()
	w := newLosableWorld(t, 20)
	p := w.startWorker("")
	w.decided(2)
	lost := w.reserve(3)
	rids := []string{lost[0].RID, lost[1].RID, lost[2].RID}
	w.must(w.stock.HandedOver(w.context(), w.entry.ID, w.entry.Epoch, rids))
	_, _, err := w.store.RequestRebuild(w.context(), w.entry.ID, w.entry.Epoch, 0)
	w.must(err)
	w.live()
	w.eventuallyAll(sale.StatusConfirmed, lost)
	if e := w.wantAudited(); e.Held != 5 || e.Redis.Stock != 15 {
		t.Errorf("%d held, %d in stock", e.Held, e.Redis.Stock)
	}
	w.stopped(p)
}
