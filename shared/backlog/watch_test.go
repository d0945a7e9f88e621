package backlog

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"sluice/shared/sale"
)

// fakeStream has one first hand-over for all sales.
type fakeStream struct {
	mu    sync.Mutex
	first time.Time
	err   error
	asked atomic.Int64
}

func (f *fakeStream) OldestWaiting(context.Context, string) (time.Time, error) {
	f.asked.Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first, f.err
}

func (f *fakeStream) answer(first time.Time, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.first, f.err = first, err
}

// rig runs a Watch on a fake stream; its tests run in bubbles of synctest.
type rig struct {
	*Watch
	t      *testing.T
	stream *fakeStream
}

func newRig(t *testing.T, saleIDs ...string) *rig {
	t.Helper()
	r := &rig{t: t, stream: &fakeStream{}}
	r.Watch = New(r.stream, slog.New(slog.DiscardHandler))
	for _, id := range saleIDs {
		r.Apply(sale.Entry{Sale: sale.Sale{ID: id, Title: "Phone"}, Epoch: 1})
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); r.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return r
}

// read has a snapshot of the phone taken at a second, and its oldest looked up.
func (r *rig) read(second float64, epoch, rank, served int64, handOff time.Time) Sale {
	r.t.Helper()
	r.Take(at(second), "phone", sale.Snapshot{Epoch: epoch, Rank: rank, Served: served, Now: at(second)}, sale.HandOff{Oldest: handOff}, nil)
	synctest.Wait()
	return r.phone()
}

func (r *rig) phone() Sale {
	r.t.Helper()
	for _, s := range r.All() {
		if s.SaleID == "phone" {
			return s
		}
	}
	r.t.Fatal("nothing is known of the sale")
	return Sale{}
}

func (r *rig) want(s Sale, waiting int64, oldest time.Time) {
	r.t.Helper()
	if s.Waiting != waiting || !s.Oldest.Equal(oldest) {
		r.t.Errorf("%d wait since %v, want %d since %v", s.Waiting, s.Oldest, waiting, oldest)
	}
}

var never time.Time

func TestWatch_OldestIsTheEarlierOfHandoffAndStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "phone")
		r.stream.answer(at(-3), nil)
		r.want(r.read(0, 1, 5, 2, never), 3, at(-3))
		r.want(r.read(1, 1, 5, 2, at(-9)), 3, at(-9))
		r.want(r.read(2, 1, 6, 2, at(1)), 4, at(-3))
		r.stream.answer(at(1), nil)
		r.want(r.read(3, 1, 9, 8, at(2)), 1, at(1))
		r.want(r.read(4, 1, 9, 9, never), 0, never)
	})
}

func TestWatch_ASaleOfWhichNothingWaitsCostsTheStreamNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "phone")
		for i := range 10 {
			r.want(r.read(float64(i), 1, 7, 7, never), 0, never)
		}
		if n := r.stream.asked.Load(); n != 0 {
			t.Errorf("the stream was asked %d times about an idle sale", n)
		}
		r.read(10, 1, 8, 7, never)
		if n := r.stream.asked.Load(); n != 1 {
			t.Errorf("the stream was asked %d times after one snapshot that says that something waits", n)
		}
	})
}

func TestWatch_WhatCannotBeReadStaysAndItsAgeGrows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "phone")
		r.stream.answer(at(-3), nil)
		before := r.read(0, 1, 5, 2, never)
		for i, err := range []error{sale.ErrStale, errors.New("connection refused")} {
			r.Take(at(float64(i+1)), "phone", sale.Snapshot{}, sale.HandOff{}, err)
		}
		synctest.Wait()
		before.Stale = true // and that alone is new
		if diff := cmp.Diff(before, r.phone()); diff != "" {
			t.Errorf("changed by reads that failed: %s", diff)
		}
		if age := r.phone().Age(at(60)); age != 63*time.Second {
			t.Errorf("age %v after a minute without a read, want 63s", age)
		}
		if n := r.failed(); n != 1 {
			t.Errorf("%d reads failed, want 1: a rebuild is no fault", n)
		}
		r.stream.answer(never, errors.New("no responders"))
		r.want(r.read(3, 1, 6, 2, never), 4, at(-3))
		r.want(r.read(4, 1, 6, 6, never), 0, never)
		r.want(r.read(5, 1, 8, 6, never), 2, at(5)) // at least since then
		r.want(r.read(6, 1, 8, 6, never), 2, at(5))
		if n := r.failed(); n != 4 {
			t.Errorf("%d reads failed, want 4", n)
		}
	})
}

// A rate of before an outage would say that something is served.
func TestWatch_TheRateOfASaleThatIsNotReadAnyMoreIsUnknown(t *testing.T) {
	t.Parallel()
	for name, every := range map[string]time.Duration{"every second": time.Second, "every ten seconds": 10 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, "phone")
			for i := range 3 {
				if i > 0 {
					time.Sleep(every)
				}
				now := time.Now()
				r.Take(now, "phone", sale.Snapshot{Epoch: 1, Rank: 500, Served: int64(100 * i), Now: now}, sale.HandOff{}, nil)
			}
			for range 5 {
				time.Sleep(time.Second)
				r.Take(time.Now(), "phone", sale.Snapshot{}, sale.HandOff{}, sale.ErrStale)
			}
			if s := r.phone(); !s.Measured || s.DrainRate == 0 {
				t.Errorf("%s: %+v five seconds after it was read", name, s)
			}
			time.Sleep(every + time.Second)
			if s := r.phone(); s.Measured || s.DrainRate != 0 || s.Waiting != 300 {
				t.Errorf("%s: %+v, want no rate of what was not read for longer, and 300 that wait", name, s)
			}
			got := testutil.CollectAndCount(r.Collector(time.Second), "sluice_backlog_waiting", "sluice_backlog_drain_rate", "sluice_backlog_drain_seconds")
			if got != 1 {
				t.Errorf("%s: %d metrics, want waiting alone", name, got)
			}
		})
	}
}

func TestWatch_FoundNowhereIsUnknownUntilItIsProvenToWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "phone")
		r.want(r.read(0, 1, 5, 2, never), 3, never)   // may all be settled by now
		r.want(r.read(1, 1, 9, 6, never), 3, never)   // others
		r.want(r.read(2, 1, 9, 6, never), 3, at(1))   // the same
		r.want(r.read(3, 1, 12, 6, never), 6, at(1))  // and more
		r.want(r.read(4, 1, 12, 11, never), 1, never) // one of these
	})
}

func TestWatch_ARebuildStartsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "phone")
		r.stream.answer(at(-3), nil)
		r.read(0, 1, 500, 100, never)
		if s := r.read(1, 1, 500, 200, never); s.DrainRate != 100 || !s.Measured {
			t.Errorf("%+v, want a rate of 100", s)
		}
		r.stream.answer(never, nil)
		s := r.read(2, 2, 501, 500, never)
		r.want(s, 1, never)
		if s.DrainRate != 0 || s.Measured {
			t.Errorf("%+v has a rate right after a rebuild", s)
		}
		r.want(r.read(3, 1, 500, 300, never), 1, never) // overtaken
	})
}

func TestWatch_AReadThatWasOvertakenChangesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "phone")
		r.read(0, 1, 5, 5, never)
		r.want(r.read(1, 1, 5, 2, never), 0, never)
	})
}

func TestWatch_TellsOnlyWhatWasReadOfSalesThatAreNotRetired(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "phone", "watch")
		if all := r.All(); len(all) != 0 {
			t.Errorf("%+v before anything was read", all)
		}
		r.Take(at(0), "watch", sale.Snapshot{Epoch: 1}, sale.HandOff{}, nil)
		r.read(0, 1, 5, 2, at(-1))
		if all := r.All(); len(all) != 2 || all[0].SaleID != "phone" || all[0].Title != "Phone" || all[1].SaleID != "watch" {
			t.Errorf("%+v, want both in order", all)
		}
		r.Apply(sale.Entry{Sale: sale.Sale{ID: "phone"}, Epoch: 1, Retired: true})
		r.Take(at(1), "phone", sale.Snapshot{Epoch: 1, Rank: 9}, sale.HandOff{}, nil) // a read that was under way
		synctest.Wait()
		if all := r.All(); len(all) != 1 || all[0].SaleID != "watch" {
			t.Errorf("%+v after one is retired", all)
		}
		if n := testutil.CollectAndCount(r.Collector(time.Second), "sluice_backlog_waiting"); n != 1 {
			t.Errorf("%d series of waiting after one sale is retired", n)
		}
	})
}

func TestSale_TimeToDrain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sale  Sale
		want  time.Duration
		known bool
	}{
		"nothing waits":        {Sale{}, 0, true},
		"nothing is served":    {Sale{Waiting: 5, Measured: true}, 0, false},
		"served":               {Sale{Waiting: 500, DrainRate: 40}, 12500 * time.Millisecond, true},
		"hardly served":        {Sale{Waiting: 1 << 40, DrainRate: 1e-9}, longest, true},
		"served, none waiting": {Sale{DrainRate: 40}, 0, true},
		"not read any more":    {Sale{Stale: true}, 0, false},
	} {
		if d, known := c.sale.TimeToDrain(); d != c.want || known != c.known {
			t.Errorf("%s: %v, %v", name, d, known)
		}
	}
	if age := (Sale{Oldest: at(1)}).Age(at(0)); age != 0 {
		t.Errorf("age %v of what is dated in the future", age)
	}
}

func TestCollector_TellsEverySaleByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "phone", "stuck", "new", "unread", "idle")
		for second, served := range []int64{0, 50} {
			r.Take(at(float64(second)), "phone", sale.Snapshot{Epoch: 1, Rank: 150, Served: served}, sale.HandOff{Oldest: at(-0.5)}, nil)
			r.Take(at(float64(second)), "stuck", sale.Snapshot{Epoch: 1, Rank: 7}, sale.HandOff{Oldest: at(-9)}, nil)
			r.Take(at(float64(second)), "idle", sale.Snapshot{Epoch: 1, Rank: 7, Served: 7}, sale.HandOff{}, nil)
		}
		r.Take(at(0), "new", sale.Snapshot{Epoch: 1, Rank: 3}, sale.HandOff{}, nil)
		r.Take(at(0), "unread", sale.Snapshot{}, sale.HandOff{}, errors.New("timeout"))
		synctest.Wait()
		want := `
# HELP sluice_backlog_drain_rate Reservations served a second, over the last five seconds.
# TYPE sluice_backlog_drain_rate gauge
sluice_backlog_drain_rate{sale="idle"} 0
sluice_backlog_drain_rate{sale="phone"} 50
sluice_backlog_drain_rate{sale="stuck"} 0
# HELP sluice_backlog_drain_seconds Time that the backlog takes at the drain rate; 0 when nothing waits, +Inf when something waits and nothing is served, absent while it is not known.
# TYPE sluice_backlog_drain_seconds gauge
sluice_backlog_drain_seconds{sale="idle"} 0
sluice_backlog_drain_seconds{sale="phone"} 2
sluice_backlog_drain_seconds{sale="stuck"} +Inf
# HELP sluice_backlog_oldest_timestamp_seconds Since when the oldest reservation of the backlog waits, in unix seconds; absent while nothing waits.
# TYPE sluice_backlog_oldest_timestamp_seconds gauge
sluice_backlog_oldest_timestamp_seconds{sale="phone"} 1.7961191995e+09
sluice_backlog_oldest_timestamp_seconds{sale="stuck"} 1.796119191e+09
# HELP sluice_backlog_promise_seconds The age of a backlog that is promised at most.
# TYPE sluice_backlog_promise_seconds gauge
sluice_backlog_promise_seconds 30
# HELP sluice_backlog_read_failures_total Reads of a backlog that failed; what they are about is told as last known.
# TYPE sluice_backlog_read_failures_total counter
sluice_backlog_read_failures_total 1
# HELP sluice_backlog_waiting Reservations accepted and not yet settled.
# TYPE sluice_backlog_waiting gauge
sluice_backlog_waiting{sale="idle"} 0
sluice_backlog_waiting{sale="new"} 3
sluice_backlog_waiting{sale="phone"} 100
sluice_backlog_waiting{sale="stuck"} 7
# HELP sluice_sale_not_live 1 while nobody can buy a sale whose window is open: Redis does not have its epoch, or it is being rebuilt; 0 otherwise.
# TYPE sluice_sale_not_live gauge
sluice_sale_not_live{sale="idle"} 0
sluice_sale_not_live{sale="new"} 0
sluice_sale_not_live{sale="phone"} 0
sluice_sale_not_live{sale="stuck"} 0
`
		if err := testutil.CollectAndCompare(r.Collector(30*time.Second), strings.NewReader(want)); err != nil {
			t.Error(err)
		}
	})
}
