package jetqueue

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/shared/sale"
)

type resultsOfSale struct {
	SaleID  string
	Results []sale.Result
}

func TestResults_ReachSubscribers(t *testing.T) {
	t.Parallel()
	q, id := openQueue(t), newSaleID()
	got := make(chan resultsOfSale, 100)
	stop, err := q.SubscribeResults(func(saleID string, r []sale.Result) {
		if saleID == id {
			got <- resultsOfSale{saleID, r}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := q.conn.Publish(resultsPrefix+id, []byte("not JSON")); err != nil {
		t.Fatal(err)
	}
	want := []sale.Result{
		{RID: "r1", Status: sale.StatusConfirmed, PayBy: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)},
		{RID: "r2", Status: sale.StatusRejected, Reason: sale.ReasonDuplicate},
	}
	if err := q.NotifyResults(id, want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(resultsOfSale{id, want}, <-got); diff != "" {
		t.Fatal(diff)
	}
	stop()
	stop() // harmless
}

func TestProgress_ReachesSubscribers(t *testing.T) {
	t.Parallel()
	q, id := openQueue(t), newSaleID()
	got := make(chan sale.Progress, 100)
	stop, err := q.SubscribeProgress(func(p sale.Progress) {
		if p.SaleID == id {
			got <- p
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	want := sale.Progress{SaleID: id, Epoch: 2, Served: 41, RatePerSecond: 12.5}
	if err := q.NotifyProgress(want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, <-got); diff != "" {
		t.Fatal(diff)
	}
}

func TestNotify_FailsAtOnceWhileDisconnected(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	q := connect(t, server.URL())
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "notifying fails", func() bool { return q.NotifyProgress(sale.Progress{SaleID: "phone"}) != nil })
}
