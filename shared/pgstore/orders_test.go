package pgstore

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/shared/sale"
)

func TestOrder_MakesOnePendingRowOfEachReservation(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	rs := reservations(3)
	before := time.Now().Add(-time.Minute)

	result := order(t, s, batchOf("phone", rs[2], rs[0], rs[1]))

	wantCounts(t, result, 3, 0, 0, 0)
	wantHeld(t, s, "phone", 3)
	for i, r := range []sale.Reservation{rs[2], rs[0], rs[1]} {
		v := result.Verdicts[i]
		if v.RID != r.RID || v.State != sale.OrderPending || v.Fate != FateOrdered {
			t.Errorf("verdict %d = %+v, want %s pending", i, v, r.RID)
		}
		if pay := v.PayBy; pay.Before(before.Add(15*time.Minute)) || pay.After(time.Now().Add(16*time.Minute)) {
			t.Errorf("pay by = %v, want hold from now", pay)
		}
	}
	state, err := s.LoadState(t.Context(), "phone")
	if err != nil {
		t.Fatal(err)
	}
	want := sale.Order{
		Reservation: rs[0], SaleID: "phone", AmountMinor: 199900, Currency: "CNY", State: sale.OrderPending,
		ShownState: sale.OrderPending, HoldsUnit: true, HoldsSlot: true,
		CreatedAt: state.Orders[0].CreatedAt, PayBy: verdictOf(t, result, rs[0].RID).PayBy,
	}
	if diff := cmp.Diff(want, state.Orders[0]); diff != "" {
		t.Errorf("stored row (-want +got):\n%s", diff)
	}
}

// What is not ordinary is found out within a transaction, which must end.
func TestOrder_WhatIsNotOrdinaryKeepsItsConnection(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 4)
	rs := reservations(6)
	before := s.pool.Stat().NewConnsCount()
	wantCounts(t, order(t, s, batchOf("phone", rs[:2]...)), 2, 0, 0, 0)
	wantCounts(t, order(t, s, batchOf("phone", rs[:3]...)), 1, 2, 0, 0)
	wantCounts(t, order(t, s, batchOf("phone", rs[3:]...)), 1, 0, 0, 2)
	old := batchOf("phone", rs...)
	old.Epoch = 7
	if _, err := s.Order(t.Context(), old); !errors.Is(err, ErrStaleEpoch) {
		t.Errorf("stale: %v", err)
	}
	if now := s.pool.Stat().NewConnsCount(); now != before {
		t.Errorf("%d connections were dialled anew", now-before)
	}
	wantHeld(t, s, "phone", 4)
}

func TestOrder_RedeliveryMovesNothingAndReturnsTheStoredState(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	rs := reservations(3)
	first := order(t, s, batchOf("phone", rs...))
	exec(t, s, `UPDATE orders SET state = 'paid' WHERE id = $1::text::uuid`, rs[1].RID)
	if err := letGo(t.Context(), s, rs[2].RID); err != nil {
		t.Fatal(err)
	}

	second := order(t, s, batchOf("phone", rs...))

	wantCounts(t, second, 0, 3, 0, 0)
	wantHeld(t, s, "phone", 2)
	for i, state := range []sale.OrderState{sale.OrderPending, sale.OrderPaid, sale.OrderExpired} {
		v := second.Verdicts[i]
		if v.State != state || v.Fate != FateKnown || !v.PayBy.Equal(first.Verdicts[i].PayBy) {
			t.Errorf("verdict %d = %+v, want known, %s, pay by %v", i, v, state, first.Verdicts[i].PayBy)
		}
	}
}

func TestOrder_RIDTwiceInABatchCountsOnce(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	r := reservation("ann", 1, 1)

	result := order(t, s, batchOf("phone", r, r, r))

	wantCounts(t, result, 1, 0, 0, 0)
	wantHeld(t, s, "phone", 1)
	if len(result.Verdicts) != 1 {
		t.Errorf("%d verdicts, want 1", len(result.Verdicts))
	}
}

func TestOrder_RegroupedHandOversOrderOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 20)
	rs := reservations(9)
	order(t, s, batchOf("phone", rs[0:5]...))

	result := order(t, s, batchOf("phone", rs[8], rs[3], rs[5], rs[4], rs[7], rs[6]))

	wantCounts(t, result, 4, 2, 0, 0)
	wantHeld(t, s, "phone", 9)
}

func TestOrder_DuplicateInTheBatchIsRejectedForTheLowerRank(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	late, early := reservation("ann", 1, 7), reservation("ann", 1, 3)

	result := order(t, s, batchOf("phone", late, early))

	wantCounts(t, result, 1, 0, 1, 0)
	wantHeld(t, s, "phone", 1)
	want := Verdict{
		RID: late.RID, State: sale.OrderRejected, Reason: sale.ReasonDuplicate, Fate: FateDuplicate, Holder: early.RID,
	}
	if diff := cmp.Diff(want, verdictOf(t, result, late.RID)); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
}

func TestOrder_DuplicateAcrossBatchesGetsARowAndARelease(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	holder, again, other := reservation("ann", 1, 1), reservation("ann", 1, 2), reservation("ann", 2, 3)
	order(t, s, batchOf("phone", holder))

	result := order(t, s, batchOf("phone", again, other))
	repeated := order(t, s, batchOf("phone", again))

	wantCounts(t, result, 1, 0, 1, 0)
	wantCounts(t, repeated, 0, 1, 0, 0)
	wantHeld(t, s, "phone", 2)
	if v := repeated.Verdicts[0]; v.Holder != holder.RID || v.Reason != sale.ReasonDuplicate {
		t.Errorf("repeated verdict = %+v, want the stored duplicate of %s", v, holder.RID)
	}
	rows, err := s.AuditSale(t.Context(), "phone")
	if err != nil {
		t.Fatal(err)
	}
	want := []sale.Release{{
		RID: again.RID, SaleID: "phone", Status: sale.StatusRejected, Reason: sale.ReasonDuplicate, Holder: holder.RID,
	}}
	if diff := cmp.Diff(want, rows.Releases); diff != "" || rows.Unapplied != 1 || len(rows.Orders) != 3 {
		t.Errorf("%d orders, %d unapplied, releases (-want +got):\n%s", len(rows.Orders), rows.Unapplied, diff)
	}
}

func TestOrder_FreedSlotIsOrderedAgain(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 1)
	first, second := reservation("ann", 1, 1), reservation("ann", 1, 2)
	order(t, s, batchOf("phone", first))
	if err := letGo(t.Context(), s, first.RID); err != nil {
		t.Fatal(err)
	}

	wantCounts(t, order(t, s, batchOf("phone", second, first)), 1, 1, 0, 0)
	wantHeld(t, s, "phone", 1)
}

func TestOrder_SalesDoNotShareSlots(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 1)
	loaded(t, s, "watch", 1)

	wantCounts(t, order(t, s, batchOf("phone", reservation("ann", 1, 1))), 1, 0, 0, 0)
	wantCounts(t, order(t, s, batchOf("watch", reservation("ann", 1, 1))), 1, 0, 0, 0)
}

func TestOrder_RefusesWhatIsNotCurrentAndWritesNothing(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	loaded(t, s, "gone", 10)
	exec(t, s, `UPDATE sales SET retired = true WHERE sale_id = 'gone'`)
	stale, future := batchOf("phone", reservations(1)...), batchOf("phone", reservations(1)...)
	stale.Epoch, future.Epoch = 0, 2

	for _, test := range []struct {
		name  string
		batch Batch
		want  error
	}{
		{"older epoch", stale, ErrStaleEpoch},
		{"epoch nobody handed out", future, ErrStaleEpoch},
		{"retired", batchOf("gone", reservations(1)...), ErrRetired},
		{"no such sale", batchOf("nothing", reservations(1)...), ErrNoSale},
	} {
		if _, err := s.Order(t.Context(), test.batch); !errors.Is(err, test.want) {
			t.Errorf("%s: error %v, want %v", test.name, err, test.want)
		}
	}
	wantHeld(t, s, "phone", 0)
	wantHeld(t, s, "gone", 0)
}

func TestOrder_ABadReservationFailsTheBatchWhole(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	for name, spoil := range map[string]func(*sale.Reservation){
		"slot 21":      func(r *sale.Reservation) { r.Slot = 21 },
		"rank 0":       func(r *sale.Reservation) { r.Rank = 0 },
		"no user":      func(r *sale.Reservation) { r.UserID = "" },
		"NUL in user":  func(r *sale.Reservation) { r.UserID = "a\x00b" },
		"long key":     func(r *sale.Reservation) { r.Key = strings.Repeat("k", 65) },
		"no rid":       func(r *sale.Reservation) { r.RID = "" },
		"odd spelling": func(r *sale.Reservation) { r.RID = strings.ToUpper(r.RID[:8]) + "-AAAA" + r.RID[13:] },
	} {
		rs := reservations(3)
		spoil(&rs[1])
		if _, err := s.Order(t.Context(), batchOf("phone", rs...)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	wantHeld(t, s, "phone", 0)
}

func TestOrder_EmptyBatchIsNoWork(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)

	if result := order(t, s, batchOf("phone")); len(result.Verdicts) != 0 {
		t.Errorf("verdicts = %v, want none", result.Verdicts)
	}
}
