package pgstore

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// writeLedger writes a row of the ledger as of a time, of an order of its own.
func writeLedger(t *testing.T, s *Store, at, party, currency, event string, amount int64) {
	t.Helper()
	refundID := ""
	if event == "refund" {
		refundID = "r1"
	}
	exec(t, s, `
		INSERT INTO coupon_ledger (coupon_id, cycle, user_id, order_id, part, part_id, party, amount, currency, event, refund_id, at)
		VALUES ($1::text::uuid, 1, 'u1', 'o1', 'line', 'l1', $2, $3, $4, $5, $6, $7::text::timestamptz)`,
		uuid.NewString(), party, amount, currency, event, refundID, at)
}

// A year of a busy platform takes longer than any other call may.
func TestLedgerSums_TakeLongerThanAStatementMay(t *testing.T) {
	t.Parallel()
	url := schemaURL(t)
	s := openStore(t, url)
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	const most = 100 * time.Millisecond
	short, err := Open(t.Context(), Config{URL: url, StatementTimeout: most})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(short.Close)
	tx, err := s.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := tx.Exec(t.Context(), `LOCK TABLE coupon_ledger`); err != nil {
		t.Fatal(err)
	}
	summed := make(chan error, 1)
	go func() {
		_, err := short.LedgerSums(t.Context(), time.Unix(0, 0), time.Unix(1, 0), 1)
		summed <- err
	}()
	eventually(t, "it waits for longer than a call may take", func() bool {
		waiting, err := read(t.Context(), s, pgx.RowTo[bool], `
			SELECT clock_timestamp() - query_start > $1::interval FROM pg_stat_activity
			WHERE application_name = current_schema() AND wait_event_type = 'Lock'`, 6*most)
		return err == nil && len(waiting) == 1 && waiting[0]
	})
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-summed; err != nil {
		t.Error(err)
	}
}

func TestLedgerSums_AreByDayPartyAndCurrency(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	writeLedger(t, s, "2026-11-10T23:59:59.999999Z", "platform", "CNY", "redeem", 1_000_000) // before
	writeLedger(t, s, "2026-11-11T00:00:00Z", "platform", "CNY", "redeem", 70)
	writeLedger(t, s, "2026-11-11T07:59:59+08:00", "platform", "CNY", "redeem", 2_000_000) // before, in UTC
	writeLedger(t, s, "2026-11-12T07:59:59+08:00", "platform", "CNY", "honour", 7)
	writeLedger(t, s, "2026-11-11T12:00:00Z", "platform", "CNY", "refund", -30)
	writeLedger(t, s, "2026-11-11T12:00:00Z", "platform", "USD", "redeem", 5)
	writeLedger(t, s, "2026-11-11T12:00:00Z", "Merchant", "CNY", "redeem", 3)
	writeLedger(t, s, "2026-11-12T00:00:00Z", "platform", "CNY", "refund", -math.MaxInt64)
	writeLedger(t, s, "2026-11-12T01:00:00Z", "platform", "CNY", "refund", -math.MaxInt64)
	writeLedger(t, s, "2026-11-13T00:00:00Z", "platform", "CNY", "redeem", 4_000_000) // behind

	from := time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC)
	sums, err := s.LedgerSums(t.Context(), from, from.AddDate(0, 0, 2), 100)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, sum := range sums {
		got = append(got, fmt.Sprint(sum.Day.Format(time.RFC3339), " ", sum.Party, " ", sum.Currency, " ", sum.Given, " ", sum.Honoured, " ", sum.Reversed, " ", sum.Net()))
	}
	want := []string{
		"2026-11-11T00:00:00Z Merchant CNY 3 0 0 3",
		"2026-11-11T00:00:00Z platform CNY 77 7 30 47",
		"2026-11-11T00:00:00Z platform USD 5 0 0 5",
		"2026-11-12T00:00:00Z platform CNY 0 0 18446744073709551614 -18446744073709551614",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if two, err := s.LedgerSums(t.Context(), from, from.AddDate(0, 0, 2), 2); err != nil || !reflect.DeepEqual(two, sums[:2]) {
		t.Errorf("of two: %v, %v", two, err)
	}
	if none, err := s.LedgerSums(t.Context(), from.AddDate(1, 0, 0), from.AddDate(1, 0, 1), 2); err != nil || len(none) != 0 {
		t.Errorf("of another year: %v, %v", none, err)
	}
}
