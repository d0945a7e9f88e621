package pgstore

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/shared/sale"
)

func ticket(r sale.Reservation, status sale.Status, reason sale.Reason) sale.Ticket {
	return sale.Ticket{Reservation: r, Status: status, Reason: reason, UpdatedAt: r.AcceptedAt.Add(time.Second)}
}

func restoreClosed(t *testing.T, s *Store, saleID string, tickets ...sale.Ticket) int64 {
	t.Helper()
	n, err := s.RestoreClosed(t.Context(), entryOf(t, s, saleID), tickets)
	must(t, err)
	return n
}

func TestServer_UncheckedIsRefusedUntilItIsNoted(t *testing.T) {
	t.Parallel()
	url := schemaURL(t)
	free := openStore(t, url)
	_, err := free.Migrate(t.Context())
	must(t, err)
	checked, err := Open(t.Context(), Config{URL: url, StatementTimeout: statementTimeout, Checked: true})
	must(t, err)
	t.Cleanup(checked.Close)
	refused := func(why string) {
		t.Helper()
		if err := checked.Ping(t.Context()); !errors.Is(err, ErrUnchecked) {
			t.Errorf("%s: %v", why, err)
		}
	}
	refused("nobody has looked")
	server, err := free.Server(t.Context())
	must(t, err)
	if server.State != ServerUnknown {
		t.Errorf("it is %q", server.State)
	}
	// The mark of another server process, such as the backup's.
	exec(t, free, `INSERT INTO server_checks (started_at, state) VALUES (pg_postmaster_start_time() - interval '1 hour', 'current')`)
	refused("another one was checked")
	server.State = ServerBehind
	must(t, free.NoteServer(t.Context(), server))
	refused("it is behind")
	server.State = ServerCurrent
	must(t, free.NoteServer(t.Context(), server))
	if err := checked.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if again, err := free.Server(t.Context()); err != nil || again != server {
		t.Errorf("it is %+v, %v", again, err)
	}
}

func TestServer_RecoveryThatARestartBrokeOffGoesOn(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	exec(t, s, `INSERT INTO server_checks (started_at, state) VALUES (pg_postmaster_start_time() - interval '1 hour', 'behind')`)
	server, err := s.Server(t.Context())
	must(t, err)
	if server.State != ServerBehind {
		t.Errorf("after a restart it is %q", server.State)
	}
	other := Server{StartedAt: server.StartedAt.Add(-time.Minute), State: ServerCurrent}
	must(t, s.NoteServer(t.Context(), other)) // whoever found that out was talking to another server
	if server, err = s.Server(t.Context()); err != nil || server.State != ServerBehind {
		t.Errorf("after a note about another one it is %q, %v", server.State, err)
	}
	server.State = ServerCurrent
	must(t, s.NoteServer(t.Context(), server))
	exec(t, s, `UPDATE server_checks SET started_at = started_at - interval '1 minute'`) // restarted once more
	if server, err = s.Server(t.Context()); err != nil || server.State != ServerUnknown {
		t.Errorf("after its recovery and another restart it is %q, %v", server.State, err)
	}
}

func TestLockRecovery_HasOneHolder(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	unlock, err := s.LockRecovery(t.Context())
	must(t, err)
	if _, err := s.LockRecovery(t.Context()); !errors.Is(err, ErrLocked) {
		t.Errorf("locked twice: %v", err)
	}
	unlock()
	unlock, err = s.LockRecovery(t.Context())
	must(t, err)
	unlock()
}

func TestMissing_CountsWhatTheTicketsKnowAndPostgresDoesNot(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	rs := reservations(5)
	order(t, s, batchOf("phone", rs[:3]...))
	exec(t, s, `UPDATE orders SET state = 'paid' WHERE id = $1::text::uuid`, rs[1].RID)
	exec(t, s, `INSERT INTO releases (rid, sale_id, status, reason, give) VALUES ($1::text::uuid, 'phone', 'rejected', 'invalid', 1)`, rs[3].RID)
	for name, tc := range map[string]struct {
		ticket sale.Ticket
		want   int
	}{
		"confirmed, pending":         {ticket(rs[0], sale.StatusConfirmed, ""), 0},
		"confirmed, paid":            {ticket(rs[1], sale.StatusConfirmed, ""), 0},
		"paid, paid":                 {ticket(rs[1], sale.StatusPaid, ""), 0},
		"paid, pending":              {ticket(rs[2], sale.StatusPaid, ""), 1},
		"expired, pending":           {ticket(rs[0], sale.StatusExpired, ""), 1},
		"rejected without a row":     {ticket(rs[3], sale.StatusRejected, sale.ReasonInvalid), 0},
		"confirmed, no row":          {ticket(rs[4], sale.StatusConfirmed, ""), 1},
		"queued has no outcome":      {ticket(rs[4], sale.StatusQueued, ""), 0},
		"rejected, nothing is there": {ticket(rs[4], sale.StatusRejected, sale.ReasonSurplus), 1},
	} {
		if n, err := s.Missing(t.Context(), []sale.Ticket{tc.ticket}); err != nil || n != tc.want {
			t.Errorf("%s: %d, %v; want %d", name, n, err, tc.want)
		}
	}
}

func TestRestoreClosed_GivesBackWhatWasLetGo(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 3)
	rs := reservations(3)
	order(t, s, batchOf("phone", rs...)) // sold out
	gone := reservation("gone", 1, 4)    // its row is lost altogether
	closed := []sale.Ticket{
		ticket(rs[0], sale.StatusExpired, ""), ticket(rs[1], sale.StatusCancelled, ""), ticket(gone, sale.StatusExpired, ""),
		ticket(rs[0], sale.StatusExpired, ""), // twice, as a hash that grows is listed
	}
	for round, want := range []int64{3, 0} { // repeated, it changes nothing
		if n := restoreClosed(t, s, "phone", closed...); n != want {
			t.Errorf("round %d: %d restored, want %d", round, n, want)
		}
		rows, err := s.AuditSale(t.Context(), "phone")
		must(t, err)
		states := map[string]sale.OrderState{}
		for _, o := range rows.Orders {
			states[o.RID] = o.State
		}
		want := map[string]sale.OrderState{
			rs[0].RID: sale.OrderExpired, rs[1].RID: sale.OrderCancelled, rs[2].RID: sale.OrderPending, gone.RID: sale.OrderExpired,
		}
		if diff := cmp.Diff(want, states); diff != "" {
			t.Error(diff)
		}
		if rows.Held != 1 || len(rows.Releases) != 3 || rows.Unapplied != 0 {
			t.Errorf("%d held, %d releases, %d unapplied", rows.Held, len(rows.Releases), rows.Unapplied)
		}
	}
	if n, err := s.Missing(t.Context(), closed); err != nil || n != 0 {
		t.Errorf("%d are still missing: %v", n, err)
	}
	again := order(t, s, batchOf("phone", reservation("user-000", 1, 5), reservation("other", 1, 6)))
	if again.Ordered != 2 {
		t.Errorf("the units and slots that came back are not free: %+v", again)
	}
}

func TestRestoreClosed_RejectedKeepTheirReasons(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 3)
	holder := reservation("ann", 1, 1)
	order(t, s, batchOf("phone", holder))
	duplicate, orphan := reservation("ann", 1, 2), reservation("bob", 1, 3)
	surplus, bad := reservation("cyn", 1, 4), reservation("dan", 1, 5)
	exec(t, s, `ALTER TABLE orders ADD CONSTRAINT bad CHECK (user_id <> 'dan')`)
	tickets := []sale.Ticket{
		ticket(duplicate, sale.StatusRejected, sale.ReasonDuplicate), ticket(orphan, sale.StatusRejected, sale.ReasonDuplicate),
		ticket(surplus, sale.StatusRejected, sale.ReasonSurplus), ticket(bad, sale.StatusRejected, sale.ReasonInvalid),
	}
	for range 2 {
		restoreClosed(t, s, "phone", tickets...)
		rows, err := s.AuditSale(t.Context(), "phone")
		must(t, err)
		got := map[string]sale.Release{}
		for _, r := range rows.Releases {
			got[r.RID] = r
		}
		for rid, want := range map[string]sale.Release{
			duplicate.RID: {Reason: sale.ReasonDuplicate, Holder: holder.RID},
			orphan.RID:    {Reason: sale.ReasonDuplicate, Holder: orphan.RID},
			surplus.RID:   {Reason: sale.ReasonSurplus},
			bad.RID:       {Reason: sale.ReasonInvalid, Give: 1},
		} {
			if r := got[rid]; r.Reason != want.Reason || r.Holder != want.Holder || r.Give != want.Give || r.Status != sale.StatusRejected {
				t.Errorf("release %+v, want %+v", r, want)
			}
		}
		if rows.Held != 1 || len(rows.Orders) != 4 {
			t.Errorf("%d held by %d orders", rows.Held, len(rows.Orders))
		}
	}
	undecided, err := s.Undecided(t.Context(), []string{bad.RID})
	if err != nil || len(undecided) != 0 {
		t.Errorf("undecided %v: %v", undecided, err)
	}
}

func TestRestoreClosed_SlotStaysWhereNobodyBuysTwice(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	c := config("phone", 3)
	c.RebuyAfterRelease = false
	_, err := s.Apply(t.Context(), Catalogue{Sales: []SaleConfig{c}})
	must(t, err)
	entry, err := s.BeginLoad(t.Context(), "phone", 0)
	must(t, err)
	_, err = s.FinishLoad(t.Context(), "phone", entry.Epoch)
	must(t, err)
	restoreClosed(t, s, "phone", ticket(reservation("ann", 1, 1), sale.StatusExpired, ""))
	if again := order(t, s, batchOf("phone", reservation("ann", 1, 2))); again.Duplicates != 1 {
		t.Errorf("%+v", again)
	}
}

func TestAdopt_TakesOverWhatIsNewer(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 3)
	before := entryOf(t, s, "phone")
	same, err := s.Adopt(t.Context(), before, before.Epoch)
	if err != nil || same.Rev != before.Rev {
		t.Errorf("it was changed to %+v, %v", same, err)
	}
	known := before
	known.Epoch, known.Rev, known.Paused = 4, 9, true
	known.ClosesAt = known.OpensAt.Add(time.Minute) // an operator has closed it
	known.ClosedAt = known.ClosesAt
	for range 2 {
		got, err := s.Adopt(t.Context(), known, 4)
		if err != nil || got.Epoch != 4 || got.Rev <= 9 || !got.Paused || got.Rebuilding || !got.ClosesAt.Equal(known.ClosesAt) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	missing := config("lost", 7).Sale
	got, err := s.Adopt(t.Context(), sale.Entry{Sale: missing, Epoch: 2, Rev: 5}, 2)
	if err != nil || got.Epoch != 2 || got.Total != 7 {
		t.Errorf("a sale that is not there: %+v, %v", got, err)
	}
	if total, _, err := stockOf(t, s, "lost"); err != nil || total != 7 {
		t.Errorf("its stock is %d, %v", total, err)
	}
}

func TestAdopt_KeepsWhatWasAppliedSince(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 3)
	known := entryOf(t, s, "phone")
	known.Rev = 9
	known.Title, known.Weight, known.Hold, known.Mode, known.RebuyAfterRelease = "Newer", 7, time.Hour, sale.ModeInstant, false
	known.PerUserLimit = 5
	known.OpensAt, known.ClosesAt = known.OpensAt.Add(-time.Hour), known.ClosesAt.Add(time.Hour)
	known.Eligibility = sale.Eligibility{MinAccountAge: time.Hour, MinPaidOrders: 2, Tags: []string{"vip"}}
	got, err := s.Adopt(t.Context(), known, 1)
	must(t, err)
	if diff := cmp.Diff(known.Sale, got.Sale); diff != "" || !got.ClosedAt.IsZero() {
		t.Errorf("(-want +got):\n%s", diff)
	}
	older := known
	older.Rev, older.Title = 3, "Older"
	if got, err := s.Adopt(t.Context(), older, 1); err != nil || got.Title != "Newer" {
		t.Errorf("an older one: %+v, %v", got, err)
	}
	next := SaleConfig{Sale: known.Sale}
	if applied := apply(t, s, next)[0]; applied.Change != Unchanged {
		t.Errorf("the file that was applied last: %+v", applied)
	}
}

func TestAdopt_OfOneThatWasClosedAfterItsWindowMoved(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 3)
	known := entryOf(t, s, "phone")
	known.Rev, known.ClosesAt = 9, known.ClosesAt.Add(time.Hour) // behind what this copy has for its end
	known.ClosedAt = known.ClosesAt
	got, err := s.Adopt(t.Context(), known, 1)
	must(t, err)
	if !got.ClosesAt.Equal(known.ClosesAt) || !got.ClosedAt.Equal(known.ClosedAt) {
		t.Errorf("closes at %v, closed at %v, want %v", got.ClosesAt, got.ClosedAt, known.ClosesAt)
	}
	c := SaleConfig{Sale: known.Sale}
	c.ClosesAt = known.ClosesAt.Add(time.Hour)
	if _, err := s.Apply(t.Context(), Catalogue{Sales: []SaleConfig{c}}); err == nil || !strings.Contains(err.Error(), "it stays closed") {
		t.Errorf("applied again: %v", err)
	}
}

func TestAdopt_OfACopyFromBeforeTheFirstLoadTakesItsUnits(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	apply(t, s, config("phone", 3))
	known := entryOf(t, s, "phone")
	known.Epoch, known.Rev, known.Total, known.PriceMinor = 1, 5, 8, 7
	got, err := s.Adopt(t.Context(), known, 1)
	must(t, err)
	if total, _, err := stockOf(t, s, "phone"); err != nil || total != 8 || got.Total != 8 || got.PriceMinor != 7 {
		t.Errorf("%d units, %v: %+v", total, err, got)
	}
}

func TestRestoreAllowList_TakesTheNewestOrPauses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		own         []string // what this copy has, at number 1
		found       []string // what Redis has
		rev, newest int64
		want        []string
		lost        bool
	}{
		"redis has the newest":         {[]string{"ann"}, []string{"bob"}, 2, 2, []string{"bob"}, false},
		"this copy is the newest":      {[]string{"ann"}, []string{"bob"}, 0, 1, []string{"ann"}, false},
		"redis has nothing, same":      {[]string{"ann"}, nil, -1, 1, []string{"ann"}, false},
		"this copy has lost its users": {nil, []string{"bob"}, 1, 1, []string{"bob"}, false},
		"both have an older one":       {[]string{"ann"}, []string{"bob"}, 2, 3, []string{"bob"}, true},
		"nobody has any":               {nil, nil, -1, 1, nil, true},
		"nobody has the newest":        {[]string{"ann"}, nil, -1, 2, []string{"ann"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			loaded(t, s, "phone", 3)
			exec(t, s, `UPDATE sales SET has_allow_list = true, allow_rev = 1`)
			exec(t, s, `INSERT INTO sale_allow SELECT 'phone', unnest($1::text[])`, c.own)
			for range 2 {
				lost, err := s.RestoreAllowList(t.Context(), "phone", c.found, c.rev, c.newest)
				must(t, err)
				state, err := s.LoadState(t.Context(), "phone")
				must(t, err)
				e := entryOf(t, s, "phone")
				if !slices.Equal(state.AllowList, c.want) || e.Paused != c.lost || e.AllowRev != max(1, c.newest) {
					t.Errorf("lost %v, list %v: %+v", lost, state.AllowList, e)
				}
			}
			next := config("phone", 3)
			next.Eligibility.HasAllowList, next.AllowList = true, []string{"cy"}
			if applied := apply(t, s, next)[0]; applied.Entry.AllowRev <= c.newest {
				t.Errorf("the next list has number %d", applied.Entry.AllowRev)
			}
		})
	}
}

func stockOf(t *testing.T, s *Store, saleID string) (total, held int64, err error) {
	t.Helper()
	err = s.pool.QueryRow(t.Context(), `SELECT total, held FROM sale_stock WHERE sale_id = $1`, saleID).Scan(&total, &held)
	return total, held, err
}

func TestKeepPaid_PendingOrdersAlone(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 3)
	rs := reservations(2)
	order(t, s, batchOf("phone", rs...))
	restoreClosed(t, s, "phone", ticket(rs[1], sale.StatusCancelled, ""))
	for _, want := range []int64{1, 0} {
		if n, err := s.KeepPaid(t.Context(), []string{rs[0].RID, rs[1].RID}); err != nil || n != want {
			t.Errorf("%d, %v; want %d", n, err, want)
		}
	}
}

func TestRestoreAdjusted_CountsEachOnce(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	by := sale.Actor{Who: "admin"}
	for _, a := range []sale.Adjustment{{ID: "counted", SaleID: "phone", Delta: 5}, {ID: "intended", SaleID: "phone", Delta: -2}} {
		_, err := s.BeginAdjustment(t.Context(), by, a)
		must(t, err)
	}
	moved := []sale.Adjustment{ // in Redis
		{ID: "counted", SaleID: "phone", Delta: 5}, {ID: "intended", SaleID: "phone", Delta: -2}, {ID: "lost", SaleID: "phone", Delta: -4},
	}
	for _, want := range []int64{2, 0} {
		n, err := s.RestoreAdjusted(t.Context(), "phone", moved)
		if err != nil || n != want {
			t.Errorf("%d restored, %v; want %d", n, err, want)
		}
		if total, _, err := stockOf(t, s, "phone"); err != nil || total != 9 {
			t.Errorf("total %d, %v", total, err)
		}
	}
	rows, err := s.AuditSale(t.Context(), "phone")
	must(t, err)
	for _, a := range rows.Adjustments {
		if a.ID != "counted" && a.State != sale.AdjustmentApplied {
			t.Errorf("%+v", a)
		}
	}
}

func TestRestoreRefunded_ItsPaymentsSayWhetherTheUnitCameBack(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 3)
	rs := reservations(3)
	order(t, s, batchOf("phone", rs[0])) // the others' rows are lost
	var events []sale.PaymentEvent
	for i, r := range rs {
		for n, what := range []sale.PaymentType{sale.PaymentSucceeded, sale.RefundSucceeded} {
			events = append(events, sale.PaymentEvent{EventID: r.UserID + string(what), Type: what, OrderID: r.RID, AmountMinor: 199900,
				Currency: "CNY", OccurredAt: r.AcceptedAt.Add(time.Duration(n) * time.Second), Restock: n == 1 && i < 2})
		}
	}
	wrong := slices.Clone(events[4:]) // of the one whose unit was shipped: not its amount, and received before
	for i := range wrong {
		wrong[i].EventID, wrong[i].AmountMinor, wrong[i].Restock = "wrong "+wrong[i].EventID, 1, i == 1
	}
	for _, stored := range [][]sale.PaymentEvent{wrong, events} {
		_, err := s.StorePayments(t.Context(), stored)
		must(t, err)
	}
	wants := [2]int64{2, 1}
	for range 2 {
		for pass, back := range []bool{true, false} {
			restored := int64(0)
			for _, r := range rs {
				n, surplus, err := s.RestoreRefunded(t.Context(), entryOf(t, s, "phone"), ticket(r, sale.StatusRefunded, ""), []string{newRID()}, back)
				if err != nil || surplus != 0 {
					t.Errorf("%d surplus, %v", surplus, err)
				}
				restored += n
			}
			if restored != wants[pass] {
				t.Errorf("%d restored whose unit is back %t, want %d", restored, back, wants[pass])
			}
		}
		wants = [2]int64{}
	}
	if _, held, err := stockOf(t, s, "phone"); err != nil || held != 1 {
		t.Errorf("%d held, %v", held, err)
	}
	waiting, _, err := s.UnappliedPayments(t.Context(), sale.Payment{}, 10)
	if err != nil || len(waiting) != 2 || waiting[0].AmountMinor != 1 || waiting[1].AmountMinor != 1 {
		t.Errorf("waiting: %+v, %v, want those of a wrong amount", waiting, err)
	}
}

// A Redis that lost its last writes too may leave more held than there is: that must not
// keep the recovery from its end.
func TestRestore_WhatIsHeldTooMuchIsNoFault(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 3)
	order(t, s, batchOf("phone", reservations(3)...)) // sold out
	shipped := reservation("shipped", 1, 9)
	if n, surplus, err := s.RestoreRefunded(t.Context(), entryOf(t, s, "phone"), ticket(shipped, sale.StatusRefunded, ""), nil, false); err != nil || n != 1 || surplus != 1 {
		t.Errorf("a unit that did not come back: %d, %d surplus, %v", n, surplus, err)
	}
	if n, err := s.RestoreAdjusted(t.Context(), "phone", []sale.Adjustment{{ID: "less", SaleID: "phone", Delta: -2}}); err != nil || n != 1 {
		t.Errorf("a decrease: %d, %v", n, err)
	}
	h, err := s.Holdings(t.Context(), "phone", time.Minute)
	if err != nil || h.Total != 3 || h.Held != 3 || h.Holding != 3 {
		t.Errorf("%+v, %v", h, err)
	}
}

// A rebuild was announced, and Postgres has forgotten it: the hand-overs of the epoch
// before have no tickets in Redis, and must not be superseded.
func TestAdopt_OfASaleThatIsNotLiveOrdersItsHandOvers(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 3)
	known := entryOf(t, s, "phone")
	known.Epoch, known.Rev = 2, known.Rev+1
	for range 2 {
		got, err := s.Adopt(t.Context(), known, 0)
		if err != nil || got.Epoch != 2 || !got.Rebuilding {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	wantCounts(t, order(t, s, handedOver([]uint64{5}, reservations(1)...)), 1, 0, 0, 0)
	next, err := s.BeginLoad(t.Context(), "phone", 0) // the load of before may still be at its epoch
	if err != nil || next.Epoch != 3 {
		t.Errorf("%+v, %v", next, err)
	}
}
