package tickets

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"sluice/gateway/internal/catalog"
	"sluice/shared/sale"
)

// stock answers with one ticket, after latency.
type stock struct {
	mu      sync.Mutex
	status  sale.Status // "" is not there
	err     error
	latency time.Duration
	reads   int
}

func (s *stock) set(status sale.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
}

func (s *stock) Tickets(ctx context.Context, _ string, epoch int64, rids []string) (sale.Snapshot, []*sale.Ticket, error) {
	select {
	case <-time.After(s.latency):
	case <-ctx.Done():
		return sale.Snapshot{}, nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	snap := sale.Snapshot{SaleID: "phone", Epoch: epoch, Version: 1, Now: time.Now()}
	if s.err != nil || s.status == "" {
		return snap, []*sale.Ticket{nil}, s.err
	}
	return snap, []*sale.Ticket{{Reservation: sale.Reservation{RID: rids[0], Rank: 10}, Status: s.status}}, nil
}

func (s *stock) TicketsOf(context.Context, string, int64, string) (sale.Snapshot, []*sale.Ticket, error) {
	return sale.Snapshot{}, nil, errors.New("not asked for here")
}

type rig struct {
	stock   *stock
	waiters *Waiters
	reader  *Reader
	sales   *catalog.Catalog
	sale    *catalog.Sale
	ref     Ref
}

func newRig(most int) *rig {
	r := &rig{stock: &stock{status: sale.StatusQueued, latency: time.Millisecond}, waiters: NewWaiters(most), sales: catalog.New(),
		ref: Ref{RID: uuid.Must(uuid.NewV7()).String(), Slot: 1, UserID: "ada"}}
	r.sales.Apply(sale.Entry{Sale: sale.Sale{ID: "phone"}, Epoch: 1, Rev: 1})
	r.sale = r.sales.Find("phone")
	r.reader = NewReader(r.stock, r.waiters, 2, time.Second)
	return r
}

func settled(t sale.Ticket) bool { return t.Status != sale.StatusQueued }

// later awaits in the background.
func (r *rig) later(enough func(sale.Ticket) bool, within time.Duration) <-chan sale.Ticket {
	out := make(chan sale.Ticket, 1)
	go func() {
		t, err := r.reader.Await(r.sale, r.ref, enough, within)
		if err != nil {
			t.Reason = sale.Reason(err.Error())
		}
		out <- t
	}()
	synctest.Wait()
	return out
}

func TestAwait_ResultWakesAndTheTicketIsReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(5)
		start := time.Now()
		out := r.later(settled, 25*time.Second)
		time.Sleep(time.Second)
		r.waiters.Wake("phone", []sale.Result{{RID: "of another"}})
		r.stock.set(sale.StatusConfirmed)
		r.waiters.Wake("phone", []sale.Result{{RID: r.ref.RID}})
		if got := <-out; got.Status != sale.StatusConfirmed || time.Since(start) > 2*time.Second || r.stock.reads != 2 {
			t.Errorf("%s after %v and %d reads", got.Status, time.Since(start), r.stock.reads)
		}
		if r.waiters.Waiting() != 0 || len(r.waiters.byRID) != 0 {
			t.Errorf("%d still wait", r.waiters.Waiting())
		}
	})
}

func TestAwait_LostHintCostsTenSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(5)
		start := time.Now()
		out := r.later(settled, 25*time.Second)
		r.stock.set(sale.StatusConfirmed)
		if got := <-out; got.Status != sale.StatusConfirmed || time.Since(start) > rereadAfter+time.Second {
			t.Errorf("%s after %v", got.Status, time.Since(start))
		}
	})
}

func TestAwait_DeadlineAndDrainAnswerWithWhatIsThere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(5)
		start := time.Now()
		if got := <-r.later(settled, 3*time.Second); got.Status != sale.StatusQueued || time.Since(start).Round(time.Second) != 3*time.Second {
			t.Errorf("%s after %v", got.Status, time.Since(start))
		}
		start = time.Now()
		out := r.later(settled, 25*time.Second)
		r.waiters.Drain()
		if got := <-out; got.Status != sale.StatusQueued || time.Since(start) > time.Second {
			t.Errorf("drained: %s after %v", got.Status, time.Since(start))
		}
	})
}

func TestAwait_ProgressMakesWhatWasReadEnoughWithoutAnotherRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(5) // no worker was heard of yet
		near := func(sale.Ticket) bool { p, _ := r.sale.Progress(); return p.Served >= 8 }
		out := r.later(near, 25*time.Second)
		for served := range int64(9) {
			r.sales.Progress(sale.Progress{SaleID: "phone", Epoch: 1, Served: served})
			synctest.Wait()
		}
		start := time.Now()
		<-out
		if r.stock.reads != 1 || time.Since(start) > time.Second {
			t.Errorf("%d reads, %v", r.stock.reads, time.Since(start))
		}
	})
}

func TestAwait_TooManyWaitersReadOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(1)
		first := r.later(settled, 5*time.Second)
		start := time.Now()
		if got := <-r.later(settled, 25*time.Second); got.Status != sale.StatusQueued || time.Since(start) > time.Second {
			t.Errorf("%s after %v", got.Status, time.Since(start))
		}
		<-first
	})
}

func TestAwait_OneTicketHoldsFewPlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(100)
		for range 10 {
			r.later(settled, 5*time.Second)
		}
		if n := r.waiters.Waiting(); n != mostOfOne {
			t.Errorf("%d requests wait for one ticket", n)
		}
		time.Sleep(6 * time.Second)
	})
}

func TestFollow_KeepsItsPlaceAndReadsAgainAfterAFault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(1)
		f, ok := r.reader.Follow(r.sale, r.ref)
		if _, second := r.reader.Follow(r.sale, r.ref); !ok || second {
			t.Fatalf("first %v, second %v of one place", ok, second)
		}
		for range 3 {
			if got, err := f.Next(settled, time.Second); err != nil || got.Status != sale.StatusQueued || r.stock.reads != 1 {
				t.Errorf("%s, %v after %d reads", got.Status, err, r.stock.reads)
			}
		}
		r.stock.err = sale.ErrStale
		r.waiters.Wake("phone", []sale.Result{{RID: r.ref.RID}})
		if _, err := f.Next(settled, time.Second); !errors.Is(err, sale.ErrStale) {
			t.Errorf("at no live epoch: %v", err)
		}
		r.stock.err = nil
		r.stock.set(sale.StatusConfirmed)
		if got, err := f.Next(settled, time.Second); err != nil || got.Status != sale.StatusConfirmed {
			t.Errorf("live again: %s, %v", got.Status, err)
		}
		f.Leave()
		f.Leave()
		if n := r.waiters.Waiting(); n != 0 {
			t.Errorf("%d wait", n)
		}
	})
}

func TestFollow_DrainEndsARest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(1)
		f, _ := r.reader.Follow(r.sale, r.ref)
		defer f.Leave()
		start := time.Now()
		f.Rest(time.Second)
		if f.Drained() || time.Since(start) != time.Second {
			t.Errorf("rested for %v", time.Since(start))
		}
		r.waiters.Drain()
		f.Rest(time.Hour)
		if !f.Drained() || time.Since(start) != time.Second {
			t.Errorf("rested for %v", time.Since(start))
		}
	})
}

func TestOne_NotThereAtALiveEpochWasNeverAccepted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(1)
		r.stock.set("")
		got, err := r.reader.One(r.sale, r.ref)
		if err != nil || got.Status != sale.StatusRejected || got.Reason != sale.ReasonNotAccepted || got.UserID != "ada" {
			t.Errorf("%+v, %v", got, err)
		}
		r.stock.err = sale.ErrStale
		if _, err := r.reader.One(r.sale, r.ref); !errors.Is(err, sale.ErrStale) {
			t.Errorf("at no live epoch: %v", err)
		}
	})
}

func TestOne_MoreReadsThanConnectionsWaitForTheirTurnWithABound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(1)
		r.stock.latency = 400 * time.Millisecond
		var mu sync.Mutex
		var served, refused int
		var all sync.WaitGroup
		start := time.Now()
		for range 20 {
			all.Go(func() {
				_, err := r.reader.One(r.sale, r.ref)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					served++
				} else {
					refused++
				}
			})
		}
		all.Wait()
		if served != 4 || refused != 16 || time.Since(start) > time.Second {
			t.Errorf("%d served, %d refused in %v; two at a time of 400 ms each fit twice into a second", served, refused, time.Since(start))
		}
	})
}
