package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"sluice/shared/faultproxy"
	"sluice/shared/pgstore"
	"sluice/worker/internal/pacing"
)

// TestRecordTraces records what order transactions take in a real Postgres, for the
// tests of the pace:
//
//	SLUICE_RECORD=$PWD/worker/internal/pacing/testdata go test -count=1 -run TestRecordTraces ./worker
func TestRecordTraces(t *testing.T) {
	dir := os.Getenv("SLUICE_RECORD")
	if dir == "" {
		t.Skip("records only with SLUICE_RECORD")
	}
	for _, trace := range []struct {
		name      string
		consumers int
		fault     func(*faultproxy.Proxy)
	}{
		{"free", 2, func(*faultproxy.Proxy) {}},
		{"throttled", 4, func(p *faultproxy.Proxy) { p.LimitCommits(4) }},
		{"slow", 2, func(p *faultproxy.Proxy) { p.Delay(100 * time.Millisecond) }},
	} {
		w := newWorld(t, 200_000)
		proxy, through, err := faultproxy.StartFor(w.postgresURL)
		w.must(err)
		store, err := pgstore.Open(w.context(), pgstore.Config{URL: through, StatementTimeout: patience})
		w.must(err)
		trace.fault(proxy)
		w.must(os.WriteFile(filepath.Join(dir, trace.name+".csv"), w.record(store, trace.consumers), 0o600))
		store.Close()
		w.must(proxy.Close())
	}
}

// record makes orders for ten seconds, and returns when each transaction began and how
// long it took, in microseconds, and how many orders it made.
func (w *world) record(store *pgstore.Store, consumers int) []byte {
	w.t.Helper()
	var mu sync.Mutex
	lines := []byte("began_us,latency_us,orders\n")
	start := time.Now()
	var running sync.WaitGroup
	for range consumers {
		running.Go(func() {
			for time.Since(start) < 10*time.Second {
				mu.Lock()
				batch := w.reserveMany(pacing.MaxBatch)
				mu.Unlock()
				began := time.Now()
				_, err := store.Order(w.context(), pgstore.Batch{
					SaleID: w.entry.ID, Epoch: w.entry.Epoch, PriceMinor: w.entry.PriceMinor, Currency: w.entry.Currency, Reservations: batch,
				})
				took := time.Since(began)
				if err != nil {
					w.t.Error(err)
					return
				}
				mu.Lock()
				lines = fmt.Appendf(lines, "%d,%d,%d\n", began.Sub(start).Microseconds(), took.Microseconds(), len(batch))
				mu.Unlock()
			}
		})
	}
	running.Wait()
	return lines
}
