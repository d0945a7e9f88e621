package pgstore

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/shared/sale"
)

func TestBeginLoad_WaitsForOrdersUnderWayAndRefusesLaterOnes(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	r := reservation("ann", 1, 1)
	begun := make(chan error, 1)

	inDecision(t, s, batchOf("phone", r), func(ctx context.Context, d *decision) error {
		go func() {
			_, err := s.BeginLoad(ctx, "phone", 0)
			begun <- err
		}()
		waitUntilBlocked(t, s)
		return d.decide(ctx, []sale.Reservation{r})
	})

	if err := <-begun; err != nil {
		t.Fatal(err)
	}
	wantHeld(t, s, "phone", 1)
	if _, err := s.Order(t.Context(), batchOf("phone", r)); err == nil {
		t.Error("an order of the old epoch was taken")
	}
}

// Row locks alone would let the orders starve the loads: each would join those
// that hold the row already. Five loads take milliseconds with the gate, and
// most of a minute without.
func TestBeginLoad_GetsThroughAFloodOfOrders(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 1_000_000)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var epoch atomic.Int64
	epoch.Store(1)
	stop := flood(ctx, t, s, &epoch)
	defer stop()
	for range 5 {
		before, _, err := stockNow(ctx, s, "phone")
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "orders are under way", func() bool {
			held, _, err := stockNow(ctx, s, "phone")
			return err != nil || held > before+100
		})
		entry, err := s.BeginLoad(ctx, "phone", 0)
		if err != nil {
			t.Fatal(err)
		}
		epoch.Store(entry.Epoch)
	}
}

// flood orders from four workers, at the epoch that is current, until stopped.
func flood(ctx context.Context, t *testing.T, s *Store, epoch *atomic.Int64) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for ctx.Err() == nil {
				b := batchOf("phone", freshReservations(20)...)
				b.Epoch = epoch.Load()
				if err := orderOnce(ctx, s, b); err != nil && ctx.Err() == nil && !errors.Is(err, ErrStaleEpoch) {
					t.Error(err)
				}
			}
		})
	}
	return func() { cancel(); group.Wait() }
}

// freshReservations are n of users that nobody else has.
func freshReservations(n int) []sale.Reservation {
	rs := make([]sale.Reservation, n)
	for i := range rs {
		rs[i] = reservation(newRID(), 1, int64(i+1))
	}
	return rs
}
