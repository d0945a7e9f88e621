package jetqueue

import (
	"encoding/json"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

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

func TestResults_AreWrittenAsJSONAndReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.Custom(drawResult), 0, 5).Draw(t, "results")
		data := appendResults(nil, want)
		parsed, err := fromJSON[[]sale.Result](data)
		if diff := cmp.Diff(want, parsed, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Fatalf("as JSON: %v\n%s", err, diff)
		}
		read, ok := readResults(data)
		if diff := cmp.Diff(want, read); len(want) > 0 && (!ok || diff != "") {
			t.Fatalf("read %v\n%s", ok, diff)
		}
		if again, err := decodeResults(append(data, ' ')); err != nil || len(again) != len(want) {
			t.Fatalf("%d of %d results with a space: %v", len(again), len(want), err)
		}
	})
}

func FuzzResults(f *testing.F) {
	payBy := time.Date(2026, 12, 1, 2, 15, 0, 123456000, time.UTC)
	f.Add(appendResults(nil, []sale.Result{{RID: "1", Status: sale.StatusConfirmed, PayBy: payBy}, {RID: "2", Status: sale.StatusRejected, Reason: sale.ReasonSurplus}}))
	f.Add([]byte(`[{"rid":"1","status":"confirmed","pay_by":"2026-12-01T2:15:00,5Z"}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		results, ok := readResults(data)
		if !ok || !utf8.Valid(data) {
			return
		}
		parsed, err := fromJSON[[]sale.Result](data)
		if diff := cmp.Diff(parsed, results); err != nil || diff != "" {
			t.Fatalf("read otherwise than JSON: %v\n%s", err, diff)
		}
	})
}

func drawResult(t *rapid.T) sale.Result {
	r := sale.Result{
		RID:    rapid.StringMatching(`[0-9a-f-]{36}`).Draw(t, "rid"),
		Status: rapid.SampledFrom([]sale.Status{sale.StatusConfirmed, sale.StatusRejected}).Draw(t, "status"),
		Reason: rapid.SampledFrom([]sale.Reason{"", sale.ReasonDuplicate}).Draw(t, "reason"),
	}
	if rapid.Bool().Draw(t, "to be paid") {
		r.PayBy = time.UnixMicro(rapid.Int64Range(1e15, 1e17).Draw(t, "pay by")).UTC()
	}
	return r
}

func BenchmarkResults(b *testing.B) {
	results := make([]sale.Result, 500)
	for i := range results {
		results[i] = sale.Result{RID: "0198f3a0-0000-7000-8000-000000000001", Status: sale.StatusConfirmed, PayBy: time.Now().UTC()}
	}
	data := appendResults(nil, results)
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			appendResults(data[:0], results)
		}
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := decodeResults(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("write JSON", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := json.Marshal(results); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read JSON", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := fromJSON[[]sale.Result](data); err != nil {
				b.Fatal(err)
			}
		}
	})
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
	want := sale.Progress{SaleID: id, Epoch: 2, Served: 41, RatePerSecond: 12.5, Pace: 800.5, Worker: "0c9e"}
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
