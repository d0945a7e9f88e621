package redisstock

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"sluice/shared/devstack"
	"sluice/shared/sale"
)

func TestMain(m *testing.M) { os.Exit(devstack.Main(m)) }

var testSales atomic.Int64

func connect(t testing.TB) *Client {
	t.Helper()
	url := os.Getenv(onClusterURL)
	if url == "" {
		url = devstack.RedisForTest(t).URL()
	}
	return connectTo(t, Config{URL: url, PoolSize: 128, Timeout: 5 * time.Second})
}

func connectTo(t testing.TB, config Config) *Client {
	t.Helper()
	c, err := Open(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// keysOf are all keys that Redis has of a sale.
func keysOf(t testing.TB, c *Client, saleID string) (names []string) {
	t.Helper()
	masters, err := Masters(t.Context(), c.rdb)
	must(t, err)
	for _, master := range masters {
		here, err := master.Keys(t.Context(), "sluice:{"+saleID+"}*").Result()
		must(t, err)
		names = append(names, here...)
	}
	return names
}

// openSale is a goods sale of this test alone, open now.
func openSale(total int64, change ...func(*sale.Sale)) sale.Sale {
	s := sale.Sale{
		ID: fmt.Sprintf("sale-%d-%d", os.Getpid(), testSales.Add(1)), Kind: sale.KindGoods, Total: total, PriceMinor: 199900,
		Currency: "CNY", PerUserLimit: 1, OpensAt: time.Now().Add(-time.Hour), ClosesAt: time.Now().Add(time.Hour),
		Hold: 15 * time.Minute, Mode: sale.ModeQueued, RebuyAfterRelease: true, Weight: 1,
	}
	for _, c := range change {
		c(&s)
	}
	return s
}

func limit(n int) func(*sale.Sale)     { return func(s *sale.Sale) { s.PerUserLimit = n } }
func noRebuy(s *sale.Sale)             { s.RebuyAfterRelease = false }
func withAllowList(s *sale.Sale)       { s.Eligibility.HasAllowList = true }
func opensLater(s *sale.Sale)          { s.OpensAt = time.Now().Add(30 * time.Minute) }
func alreadyClosed(s *sale.Sale)       { s.ClosesAt = time.Now().Add(-time.Minute) }
func entry(s sale.Sale) sale.Entry     { return sale.Entry{Sale: s, Epoch: 1, Rev: 1} }
func newRID() string                   { return uuid.Must(uuid.NewV7()).String() }
func attempt(user string) sale.Attempt { return sale.Attempt{RID: newRID(), UserID: user} }

// loadEmpty makes s live at epoch 1 with its whole stock.
func loadEmpty(t testing.TB, c *Client, s sale.Sale, allow ...string) {
	t.Helper()
	ctx := t.Context()
	must(t, c.Fence(ctx, s.ID, 1, "token"))
	if len(allow) > 0 {
		must(t, c.LoadAllow(ctx, s.ID, 1, "token", allow))
	}
	must(t, c.Flip(ctx, "token", Live{Entry: entry(s), Total: s.Total, Stock: s.Total}))
}

func newLoadedSale(t testing.TB, c *Client, total int64, change ...func(*sale.Sale)) sale.Sale {
	t.Helper()
	s := openSale(total, change...)
	loadEmpty(t, c, s)
	return s
}

func reserve(t testing.TB, c *Client, s sale.Sale, attempts ...sale.Attempt) (sale.Snapshot, []sale.Decision) {
	t.Helper()
	snap, decisions, err := c.Reserve(t.Context(), s.ID, 1, attempts)
	must(t, err)
	return snap, decisions
}

func readTicket(t testing.TB, c *Client, s sale.Sale, rid string) sale.Ticket {
	t.Helper()
	_, tickets, err := c.Tickets(t.Context(), s.ID, 1, []string{rid})
	must(t, err)
	if tickets[0] == nil {
		t.Fatalf("ticket %s is not there", rid)
	}
	return *tickets[0]
}

func handOff(t testing.TB, c *Client, s sale.Sale) int64 {
	t.Helper()
	_, h, err := c.Snapshot(context.WithoutCancel(t.Context()), s.ID, 1)
	must(t, err)
	return h.Count
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}
