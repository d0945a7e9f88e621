package jetqueue

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"sluice/shared/devstack"
	"sluice/shared/sale"
)

func TestMain(m *testing.M) { os.Exit(devstack.Main(m)) }

const testPatience = 20 * time.Second // for what should take milliseconds

var testSales atomic.Int64

// newSaleID makes a sale id that no other test of this process uses.
func newSaleID() string { return fmt.Sprintf("sale-%d-%d", os.Getpid(), testSales.Add(1)) }

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), testPatience)
	t.Cleanup(cancel)
	return ctx
}

func connect(t testing.TB, url string) *Queue {
	t.Helper()
	q, err := Connect(testContext(t), Config{URL: url, Name: t.Name(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

func roomy() StreamConfig {
	return StreamConfig{MaxBytes: 64 << 20, MaxMessagesPerSale: 100_000, Replicas: 1}
}

// openQueue connects to the shared server, where stream and bucket exist.
func openQueue(t testing.TB) *Queue {
	t.Helper()
	q := connect(t, devstack.NATSForTest(t).URL())
	if err := q.Ensure(testContext(t), roomy()); err != nil {
		t.Fatal(err)
	}
	return q
}

// ownServer starts a server for this test alone.
func ownServer(t testing.TB) *devstack.Server {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real server, and -short is set")
	}
	server, err := devstack.StartNATS(testContext(t), devstack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

func reservation(n int) sale.Reservation {
	return sale.Reservation{
		RID:        fmt.Sprintf("0198f3a0-0000-7000-8000-%012d", n),
		UserID:     fmt.Sprintf("user-%d", n),
		Slot:       1,
		Rank:       int64(n),
		AcceptedAt: time.Date(2026, 12, 1, 2, 0, 0, int(123*time.Millisecond), time.UTC),
	}
}

// handOver makes one with n reservations of ranks from, from+1, …
func handOver(saleID string, from, n int) sale.HandOver {
	h := sale.HandOver{SaleID: saleID, Epoch: 3, PriceMinor: 199900, Currency: "CNY"}
	for i := range n {
		h.Reservations = append(h.Reservations, reservation(from+i))
	}
	return h
}

func mustPublish(t testing.TB, q *Queue, h sale.HandOver) uint64 {
	t.Helper()
	seq, err := q.Publish(testContext(t), h)
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

// eventually polls until ok says true.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(testPatience)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", testPatience, what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
