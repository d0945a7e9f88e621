package catalog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/shared/sale"
)

var discard = slog.New(slog.DiscardHandler)

// redis has the sales that it is given, and counts how often each is read.
type redis struct {
	mu    sync.Mutex
	has   map[string]sale.Snapshot
	reads map[string]int
	err   error
	away  map[string]bool // sales whose reads fail, and no others
}

func (r *redis) Snapshot(_ context.Context, saleID string, epoch int64) (sale.Snapshot, sale.HandOff, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reads == nil {
		r.reads = map[string]int{}
	}
	r.reads[saleID]++
	snap, there := r.has[saleID]
	switch {
	case r.err != nil:
		return sale.Snapshot{}, sale.HandOff{}, r.err
	case r.away[saleID]:
		return sale.Snapshot{}, sale.HandOff{}, errors.New("no answer")
	case !there || snap.Epoch != epoch:
		return sale.Snapshot{}, sale.HandOff{}, sale.ErrStale
	}
	return snap, sale.HandOff{}, nil
}

func (r *redis) set(err error, has ...sale.Snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err, r.has = err, map[string]sale.Snapshot{}
	for _, s := range has {
		r.has[s.SaleID] = s
	}
}

// expect fails unless every sale was read that often since it was asked last.
func (r *redis) expect(t *testing.T, when string, want map[string]int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if got := fmt.Sprint(r.reads); got != fmt.Sprint(want) {
		t.Errorf("%s: reads %v, want %v", when, got, want)
	}
	r.reads = map[string]int{}
}

func announced(id string, epoch int64) sale.Entry {
	return sale.Entry{Sale: sale.Sale{ID: id, OpensAt: at(time.Hour), ClosesAt: at(2 * time.Hour)}, Epoch: epoch, Rev: 1}
}

func heldAt(id string, epoch int64) sale.Snapshot {
	s := snapshot(epoch, 1, at(0))
	s.SaleID = id
	return s
}

// refreshed runs Refresh with a long period in a bubble.
func refreshed(t *testing.T, test func(c *Catalog, r *redis)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, r := New(), &redis{reads: map[string]int{}}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.Refresh(ctx, r, time.Hour, time.Hour, discard)
		}()
		test(c, r)
		cancel()
		<-done
	})
}

func TestRefresh_ReadsASaleOnceWhenItIsAnnouncedAndThenByThePeriod(t *testing.T) {
	t.Parallel()
	refreshed(t, func(c *Catalog, r *redis) {
		r.set(nil, heldAt("phone", 1), heldAt("tablet", 1))
		over, healing := announced("retired", 1), announced("healing", 1)
		over.Retired, healing.Rebuilding = true, true
		for _, e := range []sale.Entry{announced("phone", 1), announced("tablet", 1), announced("lost", 1), over, healing} {
			c.Apply(e)
			c.Apply(e)
			c.ReadUnread(t.Context(), r, discard)
		}
		synctest.Wait()
		r.expect(t, "at the start", map[string]int{"phone": 1, "tablet": 1, "lost": 1})
		c.ReadUnread(t.Context(), r, discard)
		c.Hear(heldAt("phone", 1))
		c.Hear(heldAt("nobody", 1))
		synctest.Wait()
		r.expect(t, "with nothing unread", nil)
		time.Sleep(time.Hour)
		synctest.Wait()
		r.expect(t, "after a period", map[string]int{"phone": 1, "tablet": 1, "lost": 1, "healing": 1})
	})
}

func TestRefresh_ReadsAtOnceWhatIsThereAfterAll(t *testing.T) {
	t.Parallel()
	for name, news := range map[string]func(*Catalog){
		"another epoch is announced": func(c *Catalog) { c.Apply(announced("phone", 2)) },
		"its state is broadcast": func(c *Catalog) {
			c.Apply(announced("phone", 2))
			synctest.Wait()
			c.Hear(heldAt("phone", 2))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refreshed(t, func(c *Catalog, r *redis) {
				c.Apply(announced("phone", 1))
				synctest.Wait()
				r.set(nil, heldAt("phone", 2))
				news(c)
				synctest.Wait()
				if err := c.SaleReady("phone"); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestRefresh_WhatRedisDidNotAnswerStaysUnread(t *testing.T) {
	t.Parallel()
	refreshed(t, func(c *Catalog, r *redis) {
		r.set(errors.New("gone"))
		c.Apply(announced("phone", 1))
		synctest.Wait()
		if err := c.Warm(at(0), time.Minute); err == nil || !strings.Contains(err.Error(), "sale phone: cannot refresh sale phone: gone") {
			t.Errorf("warm: %v", err)
		}
		r.set(nil, heldAt("phone", 1))
		c.ReadUnread(t.Context(), r, discard)
		synctest.Wait()
		if err := c.Warm(at(0), time.Minute); err != nil {
			t.Error(err)
		}
	})
}

func TestWarm_NamesSomeOfManyAndCountsTheRest(t *testing.T) {
	t.Parallel()
	c := New()
	for i := range 5 {
		c.Apply(announced(fmt.Sprint("sale-", i), 1))
	}
	const want = "sale sale-0: was not read from redis yet; sale sale-1: was not read from redis yet; sale sale-2: was not read from redis yet; and 2 more"
	if err := c.Warm(at(0), time.Hour); err == nil || err.Error() != want {
		t.Errorf("warm: %v", err)
	}
}

func TestWarm_ASaleBeyondTheHorizonIsReadAllTheSame(t *testing.T) {
	t.Parallel()
	c, _ := newTestSale(1, 1)
	if err := c.Warm(at(0), time.Minute); err == nil {
		t.Error("warm, and nothing was read")
	}
	c.read(t.Context(), &redis{}, (*Sale).unread, discard)
	if err := c.Warm(at(0), time.Minute); err != nil {
		t.Errorf("Redis has nothing of it, which is known now: %v", err)
	}
}

func TestWarm_AShardThatIsAwayForLongKeepsNoGatewayFromStarting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, r := New(), &redis{away: map[string]bool{"phone": true}}
		r.set(nil, heldAt("tablet", 1))
		for _, id := range []string{"phone", "tablet"} {
			c.Apply(announced(id, 1))
		}
		warm := func() error {
			c.ReadUnread(t.Context(), r, discard)
			return c.Warm(c.Clock(), 24*time.Hour)
		}
		if err := warm(); err == nil || !strings.Contains(err.Error(), "sale phone: ") {
			t.Errorf("at first: %v", err)
		}
		time.Sleep(awayAfter - time.Second) // a failover may be under way
		if warm() == nil {
			t.Error("warm before a failover was over")
		}
		time.Sleep(time.Second)
		if err := warm(); err != nil {
			t.Errorf("after a while: %v", err)
		}
		r.set(errors.New("no answer"))
		c.Apply(announced("tablet", 2)) // unread again
		time.Sleep(2 * awayAfter)
		if warm() == nil {
			t.Error("warm while nothing of Redis answers")
		}
	})
}
