package pgstore

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/shared/sale"
)

func TestOrder_SurplusAdmitsTheLowestRanks(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 3)
	rs := reservations(6)
	order(t, s, batchOf("phone", rs[5])) // the highest rank, but first come
	shuffled := []sale.Reservation{rs[4], rs[1], rs[3], rs[0], rs[2], rs[5]}

	result := order(t, s, batchOf("phone", shuffled...))

	wantCounts(t, result, 2, 1, 0, 3)
	wantHeld(t, s, "phone", 3)
	for i, r := range rs[:5] {
		v := verdictOf(t, result, r.RID)
		if admitted := v.Fate == FateOrdered; admitted != (i < 2) {
			t.Errorf("rank %d: fate %s", i+1, v.Fate)
		}
	}
	wantSurplusReleases(t, s, rs[2].RID, rs[3].RID, rs[4].RID)
	wantCounts(t, order(t, s, batchOf("phone", rs...)), 0, 6, 0, 0)
}

func TestOrder_SurplusOfASaleWithoutRoomRejectsAll(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 0)
	rs := reservations(2)

	wantCounts(t, order(t, s, batchOf("phone", rs...)), 0, 0, 0, 2)
	wantHeld(t, s, "phone", 0)
	wantSurplusReleases(t, s, rs[0].RID, rs[1].RID)
}

func TestOrder_DuplicateOfASurplusIsSurplusToo(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 1)
	winner, loser, itsDouble := reservation("ann", 1, 1), reservation("bob", 1, 2), reservation("bob", 1, 3)

	result := order(t, s, batchOf("phone", itsDouble, loser, winner))

	wantCounts(t, result, 1, 0, 0, 2)
	wantHeld(t, s, "phone", 1)
	wantSurplusReleases(t, s, loser.RID, itsDouble.RID)
}

// wantSurplusReleases expects these rids to be rejected and nothing else to be
// released, all as surplus with nothing given back.
func wantSurplusReleases(t *testing.T, s *Store, rids ...string) {
	t.Helper()
	rows, err := s.AuditSale(t.Context(), "phone")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(rids)
	want := make([]sale.Release, len(rids))
	for i, rid := range rids {
		want[i] = sale.Release{RID: rid, SaleID: "phone", Status: sale.StatusRejected, Reason: sale.ReasonSurplus}
	}
	if diff := cmp.Diff(want, rows.Releases); diff != "" {
		t.Errorf("releases (-want +got):\n%s", diff)
	}
	for _, o := range rows.Orders {
		if slices.Contains(rids, o.RID) && (o.State != sale.OrderRejected || o.Reason != sale.ReasonSurplus || o.HoldsUnit || o.HoldsSlot) {
			t.Errorf("row of a surplus = %+v", o)
		}
	}
}
