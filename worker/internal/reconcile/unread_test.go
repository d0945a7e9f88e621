package reconcile

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/shared/sale"
)

// stores are those of one sale of coupons: Redis has two in stock of which Postgres has
// one, and what is asked about coupons is not answered.
type stores struct {
	rows
	entry     sale.Entry
	asked     int
	saved     []sale.Reconciliation
	corrected []int64
}

func (s *stores) LastReconciliation(context.Context, string) (sale.Reconciliation, error) {
	return sale.Reconciliation{}, nil
}

func (s *stores) SaveReconciliation(_ context.Context, r sale.Reconciliation) error {
	r.Findings = slices.Clone(r.Findings)
	s.saved = append(s.saved, r)
	return nil
}

func (s *stores) Holdings(context.Context, string, time.Duration) (sale.Holdings, error) {
	return sale.Holdings{Entry: s.entry, Total: 3, Held: 2, Holding: 2}, nil
}

func (s *stores) CouponHoldings(ctx context.Context, _ string) (sale.CouponEvidence, error) {
	s.asked++
	<-ctx.Done()
	return sale.CouponEvidence{}, ctx.Err()
}

func (s *stores) Snapshot(context.Context, string, int64) (sale.Snapshot, sale.HandOff, error) {
	return sale.Snapshot{SaleID: s.entry.ID, Total: 3, Stock: 2}, sale.HandOff{}, nil
}

func (s *stores) Correct(_ context.Context, seen sale.Snapshot, _, stock int64) (sale.Snapshot, bool, error) {
	s.corrected = append(s.corrected, stock)
	return seen, true, nil
}

func (s *stores) Idle(context.Context, string) (bool, error) { return true, nil }

func (s *stores) NotifySnapshot(sale.Snapshot) error { return nil }

func TestReconcile_StockOfASaleWhoseCouponsCannotBeRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &stores{entry: sale.Entry{Sale: sale.Sale{ID: "claims", Template: "newcomer"}, Epoch: 1}}
		r := New(Config{StuckAfter: time.Minute}, s, s, s, errors.New("busy"), func(string) error { return nil },
			NewMetrics(prometheus.NewRegistry()), slog.New(slog.DiscardHandler))
		if err := r.sale(t.Context(), 1, s.entry); err != nil {
			t.Fatal(err)
		}
		if s.asked != 1 || len(s.corrected) != 1 || s.corrected[0] != 1 {
			t.Errorf("asked %d times, stock set to %v", s.asked, s.corrected)
		}
		kinds := map[string]bool{} // and whether repaired
		for _, f := range s.saved[len(s.saved)-1].Findings {
			kinds[f.Kind] = f.Repaired
		}
		if repaired, told := kinds[CouponsUnread]; len(kinds) != 2 || !told || repaired || !kinds[StockHigh] {
			t.Errorf("found %v", kinds)
		}
	})
}
