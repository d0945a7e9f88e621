package pgstore

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"sluice/shared/sale"
)

func TestCancel_PendingOnceAndTheBuyersOnly(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 3)
	rs := reservations(4) // the last is surplus
	order(t, s, batchOf("phone", rs...))
	exec(t, s, `UPDATE orders SET state = 'paid' WHERE id = $1::text::uuid`, rs[1].RID)
	overdue(t, s, rs[2])
	expire(t, s, "phone", 10)
	if _, err := s.MarkApplied(t.Context(), unapplied(t, s, 10)); err != nil {
		t.Fatal(err)
	}

	for _, id := range []string{rs[0].RID, newRID(), "", "nonsense"} {
		if _, cancelled, found, err := s.Cancel(t.Context(), "somebody", id); cancelled || found || err != nil {
			t.Errorf("%q of somebody else: cancelled %v, found %v, error %v", id, cancelled, found, err)
		}
	}
	wantHeld(t, s, "phone", 2)
	for i, want := range []struct {
		state     sale.OrderState
		cancelled bool
	}{{sale.OrderCancelled, true}, {sale.OrderPaid, false}, {sale.OrderExpired, false}, {sale.OrderRejected, false}} {
		for again := range 2 {
			o, cancelled, found, err := s.Cancel(t.Context(), rs[i].UserID, rs[i].RID)
			if err != nil || !found || o.State != want.state || cancelled != (want.cancelled && again == 0) {
				t.Errorf("%s: %s, cancelled %v, found %v, error %v", want.state, o.State, cancelled, found, err)
			}
		}
	}
	wantHeld(t, s, "phone", 1)
	if got := unapplied(t, s, 10); len(got) != 1 || got[0] != rs[0].RID {
		t.Errorf("releases = %v, want the cancelled one's", got)
	}
}

func TestCancel_AHundredTimesAtOnceGivesBackOnce(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 2)
	rs := reservations(2)
	order(t, s, batchOf("phone", rs...))
	var cancelled atomic.Int64
	var group sync.WaitGroup
	for range 100 {
		group.Go(func() {
			o, won, found, err := s.Cancel(t.Context(), rs[0].UserID, rs[0].RID)
			if err != nil || !found || o.State != sale.OrderCancelled {
				t.Errorf("%s, found %v, error %v", o.State, found, err)
			}
			if won {
				cancelled.Add(1)
			}
		})
	}
	group.Wait()
	if cancelled.Load() != 1 {
		t.Errorf("%d calls cancelled it", cancelled.Load())
	}
	wantHeld(t, s, "phone", 1)
}

func TestCancel_RacingExpiryOneOfThemWins(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	const races = 200
	loaded(t, s, "phone", races)
	rs := reservations(races)
	order(t, s, batchOf("phone", rs...))
	won := map[sale.OrderState]int{}
	for _, r := range rs {
		overdue(t, s, r)
		var expired atomic.Int64
		var cancelled atomic.Bool
		var group sync.WaitGroup
		group.Go(func() {
			n, err := s.Expire(t.Context(), "phone", 10)
			if err != nil {
				t.Error(err)
			}
			expired.Store(n)
		})
		group.Go(func() {
			_, yes, _, err := s.Cancel(t.Context(), r.UserID, r.RID)
			if err != nil {
				t.Error(err)
			}
			cancelled.Store(yes)
		})
		group.Wait()
		want := sale.OrderExpired
		if cancelled.Load() {
			want = sale.OrderCancelled
		}
		if (expired.Load() == 1) == cancelled.Load() {
			t.Fatalf("expired %d, cancelled %v", expired.Load(), cancelled.Load())
		}
		wantState(t, s, r, want)
		won[want]++
	}
	t.Log(fmt.Sprint(won))
	wantHeld(t, s, "phone", 0)
	if got := unapplied(t, s, 2*races); len(got) != races {
		t.Errorf("%d releases of %d orders", len(got), races)
	}
}
