package pgstore

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"sluice/shared/sale"
)

var ada = sale.Actor{Who: "admin", Operator: "ada", Address: "127.0.0.1"}

func begin(t testing.TB, s *Store, a sale.Adjustment) PendingAdjustment {
	t.Helper()
	p, err := s.BeginAdjustment(t.Context(), ada, a)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func finish(t testing.TB, s *Store, a sale.Adjustment, epoch int64, r sale.AdjustResult) sale.AdjustmentRow {
	t.Helper()
	row, err := s.FinishAdjustment(t.Context(), a, epoch, r)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

func wantTotal(t testing.TB, s *Store, want int64) {
	t.Helper()
	standings, err := s.Standings(t.Context(), "phone")
	if err != nil || len(standings) != 1 || standings[0].Total != want {
		t.Errorf("standing %+v (%v), want a total of %d", standings, err, want)
	}
}

func actions(t testing.TB, s *Store) []sale.Action {
	t.Helper()
	changes, err := s.AuditLog(t.Context(), "phone", sale.Page{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var list []sale.Action
	for _, c := range changes {
		if c.By != ada {
			t.Errorf("change by %+v", c.By)
		}
		list = append(list, c.Action)
	}
	return list
}

func TestAdjustment_IncreaseIsInTheTotalAtOnceAndOnce(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	a := sale.Adjustment{ID: "more", SaleID: "phone", Delta: 5}
	var calls sync.WaitGroup
	for range 50 {
		calls.Go(func() {
			if p, err := s.BeginAdjustment(t.Context(), ada, a); err != nil || p.State != sale.AdjustmentCounted || p.Epoch != 1 {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
	calls.Wait()
	wantTotal(t, s, 15)
	if pending, err := s.UnfinishedAdjustments(t.Context(), 10, nil); err != nil || len(pending) != 1 || pending[0].Adjustment != a {
		t.Errorf("unfinished %+v, %v", pending, err)
	}
	for range 2 {
		if row := finish(t, s, a, 1, sale.AdjustResult{}); row.State != sale.AdjustmentApplied {
			t.Errorf("finished as %+v", row)
		}
	}
	if pending, err := s.UnfinishedAdjustments(t.Context(), 10, nil); err != nil || len(pending) != 0 {
		t.Errorf("unfinished %+v, %v", pending, err)
	}
	wantTotal(t, s, 15)
	if got := actions(t, s); !slices.Equal(got, []sale.Action{sale.ActionStock}) {
		t.Errorf("audit log %v", got)
	}
}

func TestAdjustment_DecreaseLeavesTheTotalLast(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	order(t, s, batchOf("phone", reservations(4)...))
	a := sale.Adjustment{ID: "less", SaleID: "phone", Delta: -6}
	if p := begin(t, s, a); p.State != sale.AdjustmentIntended {
		t.Errorf("begun as %+v", p)
	}
	wantTotal(t, s, 10)
	for range 2 {
		if row := finish(t, s, a, 1, sale.AdjustResult{Code: sale.AdjustAlready}); row.State != sale.AdjustmentApplied {
			t.Errorf("finished as %+v", row)
		}
		wantTotal(t, s, 4)
	}
	if got := actions(t, s); !slices.Equal(got, []sale.Action{sale.ActionStock}) {
		t.Errorf("audit log %v", got)
	}
}

func TestAdjustment_RefusedIsFinal(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	a := sale.Adjustment{ID: "less", SaleID: "phone", Delta: -11}
	begin(t, s, a)
	finish(t, s, a, 1, sale.AdjustResult{Code: sale.AdjustUnsold, Stock: 10})
	row := finish(t, s, a, 1, sale.AdjustResult{})
	if row.State != sale.AdjustmentRefused || row.Unsold != 10 {
		t.Errorf("%+v", row)
	}
	if p := begin(t, s, a); p.AdjustmentRow != row {
		t.Errorf("begun again %+v", p)
	}
	wantTotal(t, s, 10)
	if got := actions(t, s); !slices.Equal(got, []sale.Action{sale.ActionStockRefused}) {
		t.Errorf("audit log %v", got)
	}
}

// Redis offered units that orders hold.
func TestAdjustment_NeverTakesAUnitThatAnOrderHolds(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	order(t, s, batchOf("phone", reservations(8)...))
	a := sale.Adjustment{ID: "less", SaleID: "phone", Delta: -3}
	begin(t, s, a)
	if row := finish(t, s, a, 1, sale.AdjustResult{}); row.State != sale.AdjustmentRefused || row.Unsold != 2 {
		t.Errorf("%+v", row)
	}
	wantTotal(t, s, 10)
	wantHeld(t, s, "phone", 8)
}

func TestAdjustment_DecreaseOfAnOldEpochIsDecidedAnew(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	less := sale.Adjustment{ID: "less", SaleID: "phone", Delta: -3}
	more := sale.Adjustment{ID: "more", SaleID: "phone", Delta: 1}
	begin(t, s, less)
	begin(t, s, more)
	if _, err := s.RebuildSale(t.Context(), ada, "phone", 0); err != nil {
		t.Fatal(err)
	}
	if _, err := s.BeginAdjustment(t.Context(), ada, sale.Adjustment{ID: "new", SaleID: "phone", Delta: 1}); !errors.Is(err, ErrRebuilding) {
		t.Errorf("a new one: %v", err)
	}
	if p := begin(t, s, less); p.State != sale.AdjustmentIntended || p.Epoch != 2 {
		t.Errorf("a known one: %+v", p)
	}
	for _, code := range []sale.Adjusted{sale.AdjustDone, sale.AdjustUnsold} {
		for _, epoch := range []int64{1, 2} { // 2 is not live yet
			if _, err := s.FinishAdjustment(t.Context(), less, epoch, sale.AdjustResult{Code: code}); !errors.Is(err, ErrStaleEpoch) {
				t.Errorf("decided %d at epoch %d: %v", code, epoch, err)
			}
		}
	}
	if row := finish(t, s, more, 1, sale.AdjustResult{}); row.State != sale.AdjustmentApplied { // it is in the total that the rebuild counts
		t.Errorf("%+v", row)
	}
	if pending, err := s.UnfinishedAdjustments(t.Context(), 10, nil); err != nil || len(pending) != 0 {
		t.Errorf("unfinished while rebuilding %+v, %v", pending, err)
	}
	var counted []sale.Adjustment
	var total int64
	if err := s.Count(t.Context(), "phone", 2, sale.LoadParts{
		Live:     func(l sale.Live) error { total = l.Total; return nil },
		Adjusted: func(page []sale.Adjustment) error { counted = append(counted, page...); return nil },
	}); err != nil || total != 11 || !slices.Equal(counted, []sale.Adjustment{more}) {
		t.Errorf("counted %+v of a total of %d, %v", counted, total, err)
	}
	if _, err := s.FinishLoad(t.Context(), "phone", 2); err != nil {
		t.Fatal(err)
	}
	if pending, err := s.UnfinishedAdjustments(t.Context(), 10, nil); err != nil || len(pending) != 1 || pending[0].Epoch != 2 {
		t.Errorf("unfinished %+v, %v", pending, err)
	}
	finish(t, s, less, 2, sale.AdjustResult{})
	wantTotal(t, s, 8)
}

func TestAdjustment_RefusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	if _, err := s.Apply(t.Context(), Catalogue{Sales: []SaleConfig{config("cold", 10)}}); err != nil {
		t.Fatal(err)
	}
	begin(t, s, sale.Adjustment{ID: "a", SaleID: "phone", Delta: 1})
	for want, a := range map[error]sale.Adjustment{
		ErrNoSale:          {ID: "b", SaleID: "nothing", Delta: 1},
		ErrNotLoaded:       {ID: "b", SaleID: "cold", Delta: 1},
		ErrTotalLimit:      {ID: "b", SaleID: "phone", Delta: sale.MaxTotal - 10},
		ErrOtherAdjustment: {ID: "a", SaleID: "phone", Delta: 2},
	} {
		if _, err := s.BeginAdjustment(t.Context(), ada, a); !errors.Is(err, want) {
			t.Errorf("%+v: %v, want %v", a, err, want)
		}
	}
	if _, err := s.BeginAdjustment(t.Context(), ada, sale.Adjustment{ID: "a", SaleID: "cold", Delta: 1}); !errors.Is(err, ErrOtherAdjustment) {
		t.Errorf("of another sale: %v", err)
	}
	exec(t, s, `UPDATE sales SET retired = true WHERE sale_id = 'phone'`)
	if _, err := s.BeginAdjustment(t.Context(), ada, sale.Adjustment{ID: "c", SaleID: "phone", Delta: 1}); !errors.Is(err, ErrRetired) {
		t.Errorf("of a retired sale: %v", err)
	}
	wantTotal(t, s, 11)
}
