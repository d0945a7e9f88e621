package pgstore

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

func ridsOf[T any](rows []T, rid func(T) string) []string {
	rids := make([]string, len(rows))
	for i, row := range rows {
		rids[i] = rid(row)
	}
	slices.Sort(rids)
	return rids
}

func unapplied(t *testing.T, s *Store, limit int) []string {
	t.Helper()
	pending, err := s.UnappliedReleases(t.Context(), limit, nil)
	if err != nil {
		t.Fatal(err)
	}
	return ridsOf(pending, func(p PendingRelease) string { return p.RID })
}

func TestReleases_AreListedUntilMarkedApplied(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 1)
	rs := reservations(3)
	order(t, s, batchOf("phone", rs...))

	if got := unapplied(t, s, 10); !slices.Equal(got, []string{rs[1].RID, rs[2].RID}) {
		t.Errorf("unapplied = %v, want the two surplus", got)
	}
	for range 2 { // a second mark changes nothing
		if _, err := s.MarkApplied(t.Context(), []string{rs[2].RID, rs[0].RID}); err != nil {
			t.Fatal(err)
		}
	}
	if got := unapplied(t, s, 10); !slices.Equal(got, []string{rs[1].RID}) {
		t.Errorf("unapplied = %v, want the unmarked one", got)
	}
	pending, err := s.UnappliedReleases(t.Context(), 10, nil)
	want := []PendingRelease{{
		Release: sale.Release{RID: rs[1].RID, SaleID: "phone", Status: sale.StatusRejected, Reason: sale.ReasonSurplus, Slot: sale.SlotOpens},
		Epoch:   1,
	}}
	if diff := cmp.Diff(want, pending); diff != "" || err != nil {
		t.Errorf("error %v, releases (-want +got):\n%s", err, diff)
	}
}

func TestUnappliedReleases_WhatIsPassedOverHidesNothing(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 0)
	rs := reservations(3)
	order(t, s, batchOf("phone", rs...))
	first := unapplied(t, s, 2)
	pending, err := s.UnappliedReleases(t.Context(), 2, first)
	if err != nil || len(pending) != 1 || slices.Contains(first, pending[0].RID) {
		t.Errorf("error %v, behind %v: %v", err, first, pending)
	}
}

func TestUnappliedReleases_OneSaleDoesNotHideAnother(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 0)
	loaded(t, s, "watch", 0)
	order(t, s, batchOf("phone", reservations(5)...))
	last := reservation("ann", 1, 1)
	order(t, s, batchOf("watch", last))

	if got := unapplied(t, s, 2); len(got) != 3 || !slices.Contains(got, last.RID) {
		t.Errorf("unapplied = %v, want two of phone and %s", got, last.RID)
	}
}

func unshown(t *testing.T, s *Store, limit int) []Unshown {
	t.Helper()
	rows, err := s.Unshown(t.Context(), limit, nil)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestShown_ARowIsBornShownAndUnshownOnDemand(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 2)
	rs := reservations(3) // the third is surplus
	result := order(t, s, batchOf("phone", rs...))
	if got := unshown(t, s, 10); len(got) != 0 {
		t.Errorf("after the order: unshown = %v, want none", got)
	}

	if err := s.Unshow(t.Context(), []string{rs[0].RID, rs[2].RID}); err != nil {
		t.Fatal(err)
	}
	want := []Unshown{{
		RID: rs[0].RID, SaleID: "phone", Epoch: 1, State: sale.OrderPending, PayBy: result.Verdicts[0].PayBy,
	}}
	if diff := cmp.Diff(want, unshown(t, s, 10)); diff != "" {
		t.Errorf("unshown, without the rejected one (-want +got):\n%s", diff)
	}
	if err := s.MarkShown(t.Context(), []string{rs[0].RID}, sale.OrderPending); err != nil {
		t.Fatal(err)
	}
	if got := unshown(t, s, 10); len(got) != 0 {
		t.Errorf("after the mark: unshown = %v, want none", got)
	}
}

// Every worker reads them every second, and nearly always there are none.
func TestUnshown_ReadsTheIndexOfUnshownOrders(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 3000)
	loaded(t, s, "watch", 3000)
	for i := range 12 { // rows of the two lie mixed, in the order of their ids
		order(t, s, batchOf([]string{"phone", "watch"}[i%2], freshReservations(500)...))
	}
	exec(t, s, `ANALYZE`)
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} { // a connection goes over to the second
		var plan []string
		err := s.bulkTx(t.Context(), func(tx pgx.Tx) (err error) {
			_, err = tx.Exec(t.Context(), `SET LOCAL plan_cache_mode = `+mode)
			if err == nil {
				_, err = tx.Exec(t.Context(), `PREPARE unshown (int, text[]) AS `+readUnshown)
			}
			if err == nil {
				plan, err = collect(t.Context(), tx, pgx.RowTo[string], `EXPLAIN EXECUTE unshown (500, NULL)`)
			}
			if err == nil {
				_, err = tx.Exec(t.Context(), `DEALLOCATE unshown`)
			}
			return err
		})
		if err != nil || !strings.Contains(strings.Join(plan, "\n"), "Scan using orders_unshown_oldest") {
			t.Errorf("%s: error %v, plan:\n%s", mode, err, strings.Join(plan, "\n"))
		}
	}
}

func TestMarkShown_OfAnOlderStateLeavesTheOrderToBeShown(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 2)
	r := reservation("ann", 1, 1)
	order(t, s, batchOf("phone", r))
	exec(t, s, `UPDATE orders SET state = 'paid'`)

	if err := s.MarkShown(t.Context(), []string{r.RID}, sale.OrderPending); err != nil {
		t.Fatal(err)
	}
	if got := unshown(t, s, 10); len(got) != 1 || got[0].State != sale.OrderPaid {
		t.Errorf("unshown = %v, want the paid order", got)
	}
	if err := letGoPaid(t, s, r.RID); err != nil {
		t.Fatal(err)
	}
	if got := unshown(t, s, 10); len(got) != 0 {
		t.Errorf("closed: unshown = %v, want it left to its release", got)
	}
}

// letGoPaid refunds a paid order with restock.
func letGoPaid(t *testing.T, s *Store, rid string) error {
	t.Helper()
	_, err := s.pool.Exec(t.Context(), `
		UPDATE orders SET state = 'refunded', holds_unit = false, holds_slot = false WHERE id = $1::text::uuid`, rid)
	return err
}

func TestOrdersOf_NewestFirstAndOnlyTheBuyers(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	loaded(t, s, "watch", 10)
	first, second, foreign := reservation("ann", 1, 1), reservation("ann", 1, 2), reservation("bob", 1, 3)
	order(t, s, batchOf("phone", first, foreign))
	order(t, s, batchOf("watch", second))

	orders, err := s.OrdersOf(t.Context(), "ann", 10)
	if err != nil || len(orders) != 2 || orders[0].RID != second.RID || orders[1].RID != first.RID {
		t.Fatalf("orders = %+v, error %v", orders, err)
	}
	if o := orders[1]; o.SKU != "PHONE-1" || o.SaleID != "phone" || o.AmountMinor != 199900 || o.PayBy.IsZero() {
		t.Errorf("order = %+v", o)
	}
	if newest, err := s.OrdersOf(t.Context(), "ann", 1); err != nil || len(newest) != 1 || newest[0].RID != second.RID {
		t.Errorf("limited: %+v, error %v", newest, err)
	}
	got, found, err := s.OrderOf(t.Context(), "ann", first.RID)
	if diff := cmp.Diff(orders[1], got); diff != "" || !found || err != nil {
		t.Errorf("found %v, error %v (-want +got):\n%s", found, err, diff)
	}
	for _, id := range []string{foreign.RID, newRID(), "", "nonsense", "urn:uuid:" + first.RID} {
		if _, found, err := s.OrderOf(t.Context(), "ann", id); found || err != nil {
			t.Errorf("%q: found %v, error %v", id, found, err)
		}
	}
}

// What Redis makes of a slot must be what Postgres made of it, whatever the sale says by then.
func TestReleases_SaySlotsAsTheyWereWhenTheOrderClosed(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for id, rebuy := range map[string]bool{"may": true, "may-not": false} {
		c := config(id, 5)
		c.RebuyAfterRelease = rebuy
		apply(t, s, c)
		entry, err := s.BeginLoad(t.Context(), id, 0)
		must(t, err)
		_, err = s.FinishLoad(t.Context(), id, entry.Epoch)
		must(t, err)
		order(t, s, batchOf(id, reservations(1)...))
		exec(t, s, `UPDATE orders SET expires_at = now() - interval '1 second' WHERE sale_id = $1`, id)
		_, err = s.Expire(t.Context(), id, 10)
		must(t, err)
		c.RebuyAfterRelease = !rebuy
		apply(t, s, c)
	}
	pending, err := s.UnappliedReleases(t.Context(), 10, nil)
	must(t, err)
	got := map[string]sale.SlotRule{}
	for _, p := range pending {
		got[p.SaleID] = p.Slot
	}
	if got["may"] != sale.SlotOpens || got["may-not"] != sale.SlotStays {
		t.Errorf("slots %v", got)
	}
}
