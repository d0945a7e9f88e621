package pgstore

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sluice/shared/sale"
)

// model decides batches as Order must, on maps.
type model struct {
	total, held int
	rows        map[string]Verdict // by rid, as a redelivery sees it
	slots       map[slotKey]string // to the rid that holds it
}

type slotKey struct {
	user string
	slot int
}

func slotOf(r sale.Reservation) slotKey { return slotKey{r.UserID, r.Slot} }

func (m *model) order(batch []sale.Reservation) map[string]Verdict {
	sorted := slices.SortedFunc(slices.Values(batch), func(a, b sale.Reservation) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.RID, b.RID))
	})
	verdicts := map[string]Verdict{}
	for _, r := range sorted { // by rank: the lowest wins the slot, and the unit
		if _, seen := verdicts[r.RID]; seen {
			continue
		}
		verdicts[r.RID] = m.decide(r)
	}
	return verdicts
}

func (m *model) decide(r sale.Reservation) Verdict {
	v := Verdict{RID: r.RID, State: sale.OrderRejected}
	if row, known := m.rows[r.RID]; known {
		row.Fate = FateKnown
		return row
	}
	switch holder := m.slots[slotOf(r)]; {
	case holder != "":
		v.Fate, v.Reason, v.Holder = FateDuplicate, sale.ReasonDuplicate, holder
	case m.held == m.total:
		v.Fate, v.Reason = FateSurplus, sale.ReasonSurplus
	default:
		v.Fate, v.State = FateOrdered, sale.OrderPending
		m.held++
		m.slots[slotOf(r)] = r.RID
	}
	m.rows[r.RID] = v
	return v
}

func (m *model) letGo(r sale.Reservation) {
	row := m.rows[r.RID]
	if row.State != sale.OrderPending {
		return
	}
	row.State = sale.OrderExpired
	m.rows[r.RID] = row
	m.held--
	delete(m.slots, slotOf(r))
}

func TestOrder_DecidesAsTheModel(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	var sales atomic.Int64
	rapid.Check(t, func(rt *rapid.T) {
		saleID := fmt.Sprintf("phone-%d", sales.Add(1))
		total := rapid.IntRange(0, 8).Draw(rt, "total")
		loaded(t, s, saleID, int64(total))
		m := &model{total: total, rows: map[string]Verdict{}, slots: map[slotKey]string{}}
		pool := contested(18)
		pick := rapid.SampledFrom(pool)
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			if r := pick.Draw(rt, "let go"); rapid.Bool().Draw(rt, "lets go") {
				m.letGo(r)
				if err := letGo(t.Context(), s, r.RID); err != nil {
					rt.Fatal(err)
				}
			}
			compareOrder(rt, s, m, batchOf(saleID, rapid.SliceOfN(pick, 1, 10).Draw(rt, "batch")...))
		}
	})
}

func compareOrder(rt *rapid.T, s *Store, m *model, b Batch) {
	result, err := s.Order(rt.Context(), b)
	if err != nil {
		rt.Fatal(err)
	}
	got := map[string]Verdict{}
	for _, v := range result.Verdicts {
		if (v.State == sale.OrderRejected) != v.PayBy.IsZero() {
			rt.Errorf("pay by of %+v", v)
		}
		v.PayBy = m.rows[v.RID].PayBy // Postgres time: not the model's business
		got[v.RID] = v
	}
	if diff := gocmp.Diff(m.order(b.Reservations), got); diff != "" {
		rt.Fatalf("verdicts (-model +postgres):\n%s", diff)
	}
	held, holding, err := stockNow(rt.Context(), s, b.SaleID)
	if err != nil || held != int64(m.held) || holding != held {
		rt.Fatalf("held = %d, rows that hold a unit = %d, model has %d, error %v", held, holding, m.held, err)
	}
}
