package fulfil

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/shared/sale"
)

// drifting is a sale whose stream has acknowledged up to a sequence, and a clock.
type drifting struct {
	script
	rank, served int64
	last, floor  uint64
	tickets      []sale.Ticket
	decided      map[string]bool
	published    []sale.HandOver
	publishErr   error
}

func (d *drifting) Snapshot(_ context.Context, _ string, epoch int64) (sale.Snapshot, sale.HandOff, error) {
	d.did("snapshot")
	return sale.Snapshot{Epoch: epoch, Rank: d.rank, Served: d.served, Now: time.Now()}, sale.HandOff{}, nil
}

func (d *drifting) LastSequence(context.Context, string) (uint64, error) {
	d.did("last")
	return d.last, nil
}

func (d *drifting) Acknowledged(_ context.Context, _ string, sequence uint64) (bool, error) {
	d.did("floor")
	d.floor++ // one hand-over a look
	return d.floor >= sequence, nil
}

func (d *drifting) EachTicket(_ context.Context, _ string, _ int64, visit func(sale.Ticket) error) error {
	d.did("scan")
	for _, t := range d.tickets {
		if err := visit(t); err != nil {
			return err
		}
	}
	return nil
}

func (d *drifting) Undecided(_ context.Context, rids []string) (undecided []string, err error) {
	d.did("undecided of %d", len(rids))
	for _, rid := range rids {
		if !d.decided[rid] {
			undecided = append(undecided, rid)
		}
	}
	return undecided, nil
}

func (d *drifting) Publish(_ context.Context, h sale.HandOver) (uint64, error) {
	d.did("publish %d", len(h.Reservations))
	d.published = append(d.published, h)
	return 1, d.publishErr
}

func (d *drifting) newLost() *lost {
	f := newFulfilment(&d.script)
	f.stores.Stock, f.stores.HandOvers, f.stores.Orders = d, d, d
	w := &saleWorker{Fulfilment: f, saleID: "phone", log: f.log}
	w.entry.Store(&sale.Entry{Sale: sale.Sale{ID: "phone", PriceMinor: 100, Currency: "CNY"}, Epoch: 4})
	return newLost(w)
}

// queued adds a ticket of that age.
func (d *drifting) queued(n int, age time.Duration) {
	for range n {
		rid := fmt.Sprintf("rid-%d", len(d.tickets))
		d.tickets = append(d.tickets, sale.Ticket{
			Reservation: sale.Reservation{RID: rid, AcceptedAt: time.Now().Add(-age)}, Status: sale.StatusQueued,
		})
	}
	d.rank += int64(n)
}

func TestLost_NothingIsReadWhileEveryTicketHasItsOutcome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &drifting{rank: 5, served: 5}
		if err := d.newLost().look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"snapshot"}, d.history()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestLost_WaitsForTheBacklogThenHandsOverWhatNobodyDecided(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &drifting{last: 3, decided: map[string]bool{"rid-1": true}}
		d.queued(2, time.Minute)
		d.tickets = append(d.tickets, sale.Ticket{Reservation: sale.Reservation{RID: "confirmed"}, Status: sale.StatusConfirmed})
		d.queued(1, -time.Hour) // younger than the mark
		if err := d.newLost().look(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := []string{"snapshot", "last", "floor", "floor", "floor", "scan", "undecided of 2", "unshow 1", "publish 1"}
		if diff := cmp.Diff(want, d.history()); diff != "" {
			t.Fatal(diff)
		}
		h := d.published[0]
		if h.Reservations[0].RID != "rid-0" || h.SaleID != "phone" || h.Epoch != 4 || h.PriceMinor != 100 || h.Currency != "CNY" {
			t.Fatalf("published %+v", h)
		}
	})
}

func TestLost_HandsOverInPages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &drifting{}
		d.queued(2*sale.MaxHandOver+1, time.Minute)
		if err := d.newLost().look(t.Context()); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, h := range d.published {
			for _, r := range h.Reservations {
				seen[r.RID] = true
			}
		}
		if len(d.published) != 3 || len(seen) != 2*sale.MaxHandOver+1 {
			t.Fatalf("%d hand-overs of %d reservations", len(d.published), len(seen))
		}
	})
}

func TestLost_StopsPublishingAtAFault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &drifting{publishErr: errFault}
		d.queued(3*sale.MaxHandOver, time.Minute)
		if err := d.newLost().look(t.Context()); err == nil || len(d.published) != 1 {
			t.Fatalf("error %v after %d hand-overs", err, len(d.published))
		}
	})
}

func TestLost_EndsWhileItWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &drifting{last: 1 << 40}
		d.queued(1, time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		d.newLost().run(ctx)
		for _, call := range d.history() {
			if call == "scan" {
				t.Fatal("scanned before the backlog was acknowledged")
			}
		}
	})
}
