package pgstore

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"sluice/shared/devstack"
	"sluice/shared/sale"
)

func TestMain(m *testing.M) { os.Exit(devstack.Main(m)) }

const statementTimeout = 20 * time.Second // the machine may be busy

// schemaURL makes an empty schema of the test's own and returns a URL whose
// connections live in it.
func schemaURL(t testing.TB) string {
	t.Helper()
	server := devstack.PostgresForTest(t).URL()
	admin := openStore(t, server)
	schema := "t" + strings.ReplaceAll(uuid.NewString(), "-", "")
	exec(t, admin, `CREATE SCHEMA `+schema)
	t.Cleanup(func() { exec(t, admin, `DROP SCHEMA `+schema+` CASCADE`) })
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set("search_path", schema)
	query.Set("application_name", schema) // tells this test's connections from others'
	u.RawQuery = query.Encode()
	return u.String()
}

func openStore(t testing.TB, url string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{URL: url, StatementTimeout: statementTimeout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// newStore is a migrated store in a schema of the test's own.
func newStore(t testing.TB) *Store {
	t.Helper()
	s := openStore(t, schemaURL(t))
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// withoutDeadlocks is a new store that fails the test for a deadlock, which transactions
// else survive: they run again.
func withoutDeadlocks(t testing.TB) *Store {
	t.Helper()
	s := newStore(t)
	s.lost = func(err error) {
		var pg *pgconn.PgError
		if errors.As(err, &pg) && pg.Code == "40P01" {
			t.Errorf("a deadlock: %v: %s", err, pg.Detail)
		}
	}
	return s
}

func exec(t testing.TB, s *Store, sql string, args ...any) {
	t.Helper()
	if _, err := s.pool.Exec(context.WithoutCancel(t.Context()), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func config(id string, total int64) SaleConfig {
	opens := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	return SaleConfig{Sale: sale.Sale{
		ID: id, Kind: sale.KindGoods, Title: "Phone at half price", SKU: "PHONE-1", Total: total, PriceMinor: 199900,
		Currency: "CNY", PerUserLimit: 2, OpensAt: opens, ClosesAt: opens.Add(time.Hour), Hold: 15 * time.Minute,
		Mode: sale.ModeQueued, RebuyAfterRelease: true, Weight: 1,
	}}
}

// loaded makes a sale of total units at epoch 1.
func loaded(t testing.TB, s *Store, id string, total int64) {
	t.Helper()
	if _, err := s.Apply(t.Context(), Catalogue{Sales: []SaleConfig{config(id, total)}}); err != nil {
		t.Fatal(err)
	}
	entry, err := s.BeginLoad(t.Context(), id, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.FinishLoad(t.Context(), id, entry.Epoch); err != nil {
		t.Fatal(err)
	}
}

func newRID() string { return uuid.Must(uuid.NewV7()).String() }

func reservation(user string, slot int, rank int64) sale.Reservation {
	return sale.Reservation{
		RID: newRID(), UserID: user, Slot: slot, Rank: rank, Key: "key-" + user,
		AcceptedAt: time.Date(2026, 12, 1, 10, 0, 1, 0, time.UTC),
	}
}

// reservations are n of different users with ranks from 1.
func reservations(n int) []sale.Reservation {
	rs := make([]sale.Reservation, n)
	for i := range rs {
		rs[i] = reservation(fmt.Sprintf("user-%03d", i), 1, int64(i+1))
	}
	return rs
}

func batchOf(saleID string, rs ...sale.Reservation) Batch {
	return Batch{SaleID: saleID, Epoch: 1, PriceMinor: 199900, Currency: "CNY", Reservations: rs}
}

func order(t testing.TB, s *Store, b Batch) Result {
	t.Helper()
	result, err := s.Order(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// letGo closes a pending order as its expiry would, unit and slot included.
func letGo(ctx context.Context, s *Store, rid string) error {
	_, err := s.pool.Exec(ctx, `
		WITH closed AS (
			UPDATE orders SET state = 'expired', holds_unit = false, holds_slot = false
			WHERE id = $1::text::uuid AND state = 'pending' RETURNING sale_id
		)
		UPDATE sale_stock SET held = held - 1 FROM closed WHERE sale_stock.sale_id = closed.sale_id`, rid)
	return err
}

// stockNow reads, in one snapshot, what the stock row says is held and how
// many rows hold a unit.
func stockNow(ctx context.Context, s *Store, saleID string) (held, holding int64, err error) {
	err = s.pool.QueryRow(ctx, `
		SELECT held, (SELECT count(*) FROM orders WHERE sale_id = $1 AND holds_unit)
		FROM sale_stock WHERE sale_id = $1`, saleID).Scan(&held, &holding)
	return held, holding, err
}

func wantHeld(t testing.TB, s *Store, saleID string, want int64) {
	t.Helper()
	held, holding, err := stockNow(t.Context(), s, saleID)
	if err != nil {
		t.Fatal(err)
	}
	if held != want || holding != want {
		t.Errorf("held = %d, rows that hold a unit = %d, want %d", held, holding, want)
	}
}

func wantCounts(t testing.TB, r Result, ordered, known, duplicates, surplus int) {
	t.Helper()
	got := [4]int{r.Ordered, r.Known, r.Duplicates, r.Surplus}
	if want := [4]int{ordered, known, duplicates, surplus}; got != want {
		t.Errorf("ordered, known, duplicates, surplus = %v, want %v", got, want)
	}
}

func verdictOf(t testing.TB, r Result, rid string) Verdict {
	t.Helper()
	for _, v := range r.Verdicts {
		if v.RID == rid {
			return v
		}
	}
	t.Fatalf("no verdict for %s", rid)
	return Verdict{}
}

// eventually polls until ok, for at most a generous 20 s.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within 20s: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}
