package pgstore

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

func success(r sale.Reservation) sale.PaymentEvent {
	return sale.PaymentEvent{
		EventID: uuid.NewString(), Type: sale.PaymentSucceeded, OrderID: r.RID, AmountMinor: 199900, Currency: "CNY",
		OccurredAt: time.Date(2026, 12, 1, 10, 5, 0, 123456789, time.UTC),
	}
}

func refundOf(r sale.Reservation, restock bool) sale.PaymentEvent {
	e := success(r)
	e.Type, e.Restock = sale.RefundSucceeded, restock
	return e
}

func storePayment(t testing.TB, s *Store, e sale.PaymentEvent, want Storing) {
	t.Helper()
	done, err := s.StorePayments(t.Context(), []sale.PaymentEvent{e})
	if err != nil || done[0] != want {
		t.Fatalf("stored: %v, error %v, want %s", done, err, want)
	}
}

func applyPayment(t testing.TB, s *Store, eventID string, late *LateUnit) AppliedPayment {
	t.Helper()
	a, err := s.ApplyPayment(t.Context(), eventID, late)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// wantPayment stores an event and wants its result.
func wantPayment(t testing.TB, s *Store, e sale.PaymentEvent, want sale.PaymentResult, reason sale.OwedReason) AppliedPayment {
	t.Helper()
	storePayment(t, s, e, StoredNew)
	a := applyPayment(t, s, e.EventID, nil)
	if a.Result != want || a.Reason != reason {
		t.Errorf("%s: %s %s, want %s %s", e.Type, a.Result, a.Reason, want, reason)
	}
	return a
}

func ordered(t testing.TB, s *Store, saleID string, total int64, n int) []sale.Reservation {
	t.Helper()
	loaded(t, s, saleID, total)
	rs := reservations(n)
	order(t, s, batchOf(saleID, rs...))
	return rs
}

// expired lets a reservation's order expire, and has Redis apply it.
func expired(t testing.TB, s *Store, saleID string, r sale.Reservation) {
	t.Helper()
	overdue(t, s, r)
	expire(t, s, saleID, 10)
	if _, err := s.MarkApplied(t.Context(), []string{r.RID}); err != nil {
		t.Fatal(err)
	}
}

// lateUnit is what Redis answers to the late attempt for an order.
func lateUnit(r sale.Reservation) *LateUnit {
	taken := r
	taken.RID, taken.Key, taken.Rank = sale.LateRID(r.RID), "late", r.Rank+1000
	return &LateUnit{Of: r.RID, Epoch: 1, Reservation: taken}
}

func owed(t testing.TB, s *Store) []sale.RefundOwed {
	t.Helper()
	list, err := s.RefundsOwed(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestStorePayments_TheFirstOfAnIDStays(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	e := success(reservation("ann", 1, 1))
	other := e
	other.AmountMinor--
	next := success(reservation("bob", 1, 2))
	done, err := s.StorePayments(t.Context(), []sale.PaymentEvent{next, e, e, other})
	if diff := cmp.Diff([]Storing{StoredNew, StoredNew, StoredBefore, StoredOtherwise}, done); diff != "" || err != nil {
		t.Errorf("error %v (-want +got)\n%s", err, diff)
	}
	storePayment(t, s, e, StoredBefore)
	storePayment(t, s, other, StoredOtherwise)
	if none, _, err := s.UnappliedPayments(t.Context(), sale.Payment{}, 10); err != nil || len(none) != 0 {
		t.Errorf("%d events of orders that nobody knows, error %v", len(none), err)
	}
	wantOpen(t, s, sale.OpenPayments{Waiting: 2})
}

func wantOpen(t *testing.T, s *Store, want sale.OpenPayments) {
	t.Helper()
	if got, err := s.PaymentsOpen(t.Context()); err != nil || got != want {
		t.Errorf("open: %+v, %v, want %+v", got, err, want)
	}
}

func TestApplyPayment_PaysAPendingOrderOnceAndLeavesItToBeShown(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	rs := ordered(t, s, "phone", 2, 1)
	e := success(rs[0])
	wantPayment(t, s, e, sale.PaymentPaid, "")
	if again := applyPayment(t, s, e.EventID, nil); !again.Passed {
		t.Errorf("applied again: %+v", again)
	}
	wantState(t, s, rs[0], sale.OrderPaid)
	wantHeld(t, s, "phone", 1)
	unshown, err := s.Unshown(t.Context(), 10, nil)
	if err != nil || len(unshown) != 1 || unshown[0].State != sale.OrderPaid || !unshown[0].PayBy.IsZero() {
		t.Errorf("to be shown: %+v, error %v", unshown, err)
	}
	overdue(t, s, rs[0])
	if n := expire(t, s, "phone", 10); n != 0 {
		t.Errorf("%d paid orders expired", n)
	}
	wantPayment(t, s, success(rs[0]), sale.PaymentOwed, sale.OwedSecond)
}

func TestApplyPayment_BeforeItsOrderWaits(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 2)
	rs := reservations(3)
	wantPayment(t, s, success(rs[0]), sale.PaymentWaits, "")
	refund := refundOf(rs[0], true)
	wantPayment(t, s, refund, sale.PaymentWaits, "")
	surplus := success(rs[2])
	wantPayment(t, s, surplus, sale.PaymentWaits, "")
	order(t, s, batchOf("phone", rs...))
	waiting, next, err := s.UnappliedPayments(t.Context(), sale.Payment{}, 2)
	if err != nil || len(waiting) != 2 || next != waiting[1] {
		t.Fatalf("%d waiting, error %v", len(waiting), err)
	}
	if a := applyPayment(t, s, refund.EventID, nil); a.Result != sale.PaymentWaits { // its payment waits too
		t.Errorf("refund first: %s", a.Result)
	}
	rest, end, err := s.UnappliedPayments(t.Context(), next, 2)
	if err != nil || len(rest) != 1 || end != (sale.Payment{}) || rest[0].EventID != surplus.EventID {
		t.Errorf("the rest: %+v, error %v", rest, err)
	}
	for i, want := range []sale.PaymentResult{sale.PaymentPaid, sale.PaymentRefunded, sale.PaymentOwed} {
		if a := applyPayment(t, s, append(waiting, rest...)[i].EventID, nil); a.Result != want {
			t.Errorf("%d: %s, want %s", i, a.Result, want)
		}
	}
	wantState(t, s, rs[0], sale.OrderRefunded)
	wantHeld(t, s, "phone", 1)
}

func TestUnappliedPayments_ThoseOfOrdersThatNeverComeHideNothing(t *testing.T) {
	t.Parallel()
	const unknown, page = 30_000, 500
	s := newStore(t)
	rs := ordered(t, s, "phone", 1, 1)
	exec(t, s, `INSERT INTO payments (event_id, type, order_id, amount, currency, restock, occurred_at, received_at)
		SELECT 'e-' || n, 'payment.succeeded', gen_random_uuid(), 1, 'CNY', false, now(), now() - interval '1 minute' FROM generate_series(1, $1::int) n`, unknown)
	storePayment(t, s, success(rs[0]), StoredNew)
	found, calls := 0, 0
	for next := (sale.Payment{}); ; {
		known, behind, err := s.UnappliedPayments(t.Context(), next, page)
		if err != nil {
			t.Fatal(err)
		}
		found += len(known)
		if next, calls = behind, calls+1; next == (sale.Payment{}) {
			break
		}
	}
	if found != 1 || calls != unknown/page+1 {
		t.Errorf("%d found in %d calls", found, calls)
	}
	since := sale.Payment{ReceivedAt: time.Now().Add(-30 * time.Second)}
	if young, next, err := s.UnappliedPayments(t.Context(), since, page); err != nil || len(young) != 1 || next != (sale.Payment{}) {
		t.Errorf("of the last half minute %d, next %q, error %v", len(young), next.EventID, err)
	}
}

func TestApplyPayment_WrongAmountsAndFailuresDoNothing(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	rs := ordered(t, s, "phone", 2, 1)
	less, euros, failed := success(rs[0]), success(rs[0]), success(rs[0])
	less.AmountMinor--
	euros.Currency = "EUR"
	failed.Type = sale.PaymentFailed
	wantPayment(t, s, less, sale.PaymentWrongAmount, "")
	wantPayment(t, s, euros, sale.PaymentWrongAmount, "")
	wantPayment(t, s, failed, sale.PaymentNoted, "")
	wantPayment(t, s, success(sale.Reservation{RID: newRID()}), sale.PaymentWaits, "")
	wantState(t, s, rs[0], sale.OrderPending)
	if list := owed(t, s); len(list) != 0 {
		t.Errorf("owed: %+v", list)
	}
	wantOpen(t, s, sale.OpenPayments{WrongAmounts: 2, Waiting: 1})
	exec(t, s, `UPDATE payments SET applied_at = applied_at - interval '25 hours' WHERE currency = 'EUR'`)
	wantOpen(t, s, sale.OpenPayments{WrongAmounts: 1, Waiting: 1})
}

func TestApplyPayment_RefundClosesThePaidOrder(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for saleID, c := range map[string]struct{ rebuy, restock bool }{
		"shipped": {true, false}, "restocked": {true, true}, "once-shipped": {false, false}, "once-restocked": {false, true},
	} {
		rs := ordered(t, s, saleID, 2, 1)
		exec(t, s, `UPDATE sales SET rebuy_after_release = $2 WHERE sale_id = $1`, saleID, c.rebuy)
		wantPayment(t, s, success(rs[0]), sale.PaymentPaid, "")
		wantPayment(t, s, refundOf(rs[0], c.restock), sale.PaymentRefunded, "")
		wantPayment(t, s, refundOf(rs[0], c.restock), sale.PaymentNotPaid, "")
		give := int64(0)
		if c.restock {
			give = 1
		}
		wantHeld(t, s, saleID, 1-give)
		rows, err := s.AuditSale(t.Context(), saleID)
		if err != nil {
			t.Fatal(err)
		}
		if o := rows.Orders[0]; o.State != sale.OrderRefunded || o.ShownState != sale.OrderRefunded || o.HoldsUnit == c.restock || o.HoldsSlot == c.rebuy {
			t.Errorf("%s: order %+v", saleID, o)
		}
		want := []sale.Release{{RID: rs[0].RID, SaleID: saleID, Status: sale.StatusRefunded, Give: give}}
		if diff := cmp.Diff(want, rows.Releases); diff != "" {
			t.Errorf("%s: releases (-want +got)\n%s", saleID, diff)
		}
		wantPayment(t, s, success(rs[0]), sale.PaymentOwed, sale.OwedRefunded)
	}
}

func TestApplyPayment_OfWhatIsClosedIsOwedUntilItIsRefunded(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	rs := ordered(t, s, "phone", 2, 3) // the last is surplus
	if _, _, _, err := s.Cancel(t.Context(), rs[0].UserID, rs[0].RID); err != nil {
		t.Fatal(err)
	}
	wantPayment(t, s, success(rs[0]), sale.PaymentOwed, sale.OwedCancelled)
	wantPayment(t, s, success(rs[2]), sale.PaymentOwed, sale.OwedRejected)
	unseen := reservation("eve", 1, 9) // rejected without a row
	exec(t, s, `INSERT INTO releases (rid, sale_id, status, reason, give) VALUES ($1::text::uuid, 'phone', 'rejected', 'invalid', 1)`, unseen.RID)
	wantPayment(t, s, success(unseen), sale.PaymentOwed, sale.OwedRejected)

	less := refundOf(rs[0], false)
	less.AmountMinor--
	wantPayment(t, s, less, sale.PaymentNotPaid, "")
	wantPayment(t, s, refundOf(rs[0], false), sale.PaymentSettled, "")
	wantPayment(t, s, refundOf(unseen, false), sale.PaymentSettled, "")
	wantPayment(t, s, refundOf(rs[0], false), sale.PaymentNotPaid, "")
	list := owed(t, s)
	if len(list) != 3 || list[0].OrderID != rs[2].RID || !list[0].SettledAt.IsZero() || list[1].SettledAt.IsZero() || list[2].SettledAt.IsZero() {
		t.Errorf("owed: %+v", list)
	}
	wantOpen(t, s, sale.OpenPayments{RefundsOwed: 1})
	wantHeld(t, s, "phone", 1)
}

// TestApplyPayment_RefundThatOvertookItsPaymentWaitsForIt is of orders that were closed before
// either came.
func TestApplyPayment_RefundThatOvertookItsPaymentWaitsForIt(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	rs := ordered(t, s, "phone", 2, 2)
	if _, _, _, err := s.Cancel(t.Context(), rs[0].UserID, rs[0].RID); err != nil {
		t.Fatal(err)
	}
	expired(t, s, "phone", rs[1])
	ofCancelled, ofExpired := refundOf(rs[0], false), refundOf(rs[1], true)
	wantPayment(t, s, ofCancelled, sale.PaymentWaits, "")
	wantPayment(t, s, ofExpired, sale.PaymentWaits, "")

	wantPayment(t, s, success(rs[0]), sale.PaymentOwed, sale.OwedCancelled)
	if a := applyPayment(t, s, ofCancelled.EventID, nil); a.Result != sale.PaymentSettled {
		t.Errorf("of a cancelled order: %+v: it would be refunded twice", a)
	}
	late := success(rs[1])
	storePayment(t, s, late, StoredNew)
	if a := applyPayment(t, s, late.EventID, lateUnit(rs[1])); a.Result != sale.PaymentReplaced || a.NeedsUnit {
		t.Errorf("late: %+v", a)
	}
	if a := applyPayment(t, s, ofExpired.EventID, nil); a.Result != sale.PaymentRefunded {
		t.Errorf("of an expired order: %+v: what takes its place would cost nothing", a)
	}
	wantState(t, s, lateUnit(rs[1]).Reservation, sale.OrderRefunded)
	wantHeld(t, s, "phone", 0)
	wantOpen(t, s, sale.OpenPayments{})
}

func TestExpire_PassesOverOrdersThatArePaid(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	rs := ordered(t, s, "phone", 3, 3)
	wrong := success(rs[1])
	wrong.AmountMinor++
	paid := success(rs[0])
	storePayment(t, s, paid, StoredNew)
	wantPayment(t, s, wrong, sale.PaymentWrongAmount, "")
	overdue(t, s, rs...)
	if n := expire(t, s, "phone", 10); n != 2 {
		t.Errorf("%d expired, want 2", n)
	}
	wantState(t, s, rs[0], sale.OrderPending)
	if due, err := s.DueSales(t.Context()); err != nil || len(due) != 0 {
		t.Errorf("due sales %v, error %v: the scan would never end", due, err)
	}
	if a := applyPayment(t, s, paid.EventID, nil); a.Result != sale.PaymentPaid {
		t.Errorf("result %s", a.Result)
	}
}

func TestApplyPayment_LateTakesAnotherUnitOnce(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	rs := ordered(t, s, "phone", 2, 1)
	overdue(t, s, rs[0])
	expire(t, s, "phone", 10)
	late := success(rs[0])
	if a := wantPayment(t, s, late, sale.PaymentWaits, ""); !a.NeedsRelease || a.NeedsUnit {
		t.Errorf("before its release: %+v", a)
	}
	expired(t, s, "phone", rs[0])
	if a := applyPayment(t, s, late.EventID, nil); !a.NeedsUnit || a.Order.RID != rs[0].RID || a.Epoch != 1 {
		t.Errorf("after its release: %+v", a)
	}
	unit := lateUnit(rs[0])
	stale := *unit
	stale.Epoch = 2
	if _, err := s.ApplyPayment(t.Context(), late.EventID, &stale); err == nil {
		t.Error("a unit of another epoch is taken")
	}
	if a := applyPayment(t, s, late.EventID, unit); a.Result != sale.PaymentReplaced {
		t.Errorf("with a unit: %+v", a)
	}
	if again := applyPayment(t, s, late.EventID, unit); !again.Passed {
		t.Errorf("with a unit, again: %+v", again)
	}
	order(t, s, batchOf("phone", unit.Reservation)) // swept
	wantHeld(t, s, "phone", 1)
	wantState(t, s, rs[0], sale.OrderExpired)
	wantState(t, s, unit.Reservation, sale.OrderPaid)
	orders, err := s.OrdersOf(t.Context(), rs[0].UserID, 10)
	if err != nil || len(orders) != 2 || orders[0].Replaces != rs[0].RID || orders[1].Replaces != "" || orders[0].AmountMinor != 199900 {
		t.Errorf("orders %+v, error %v", orders, err)
	}

	wantPayment(t, s, success(rs[0]), sale.PaymentOwed, sale.OwedSecond)
	wantPayment(t, s, refundOf(unit.Reservation, false), sale.PaymentSettled, "") // names the new one
	wantPayment(t, s, refundOf(rs[0], true), sale.PaymentRefunded, "")            // names the old one
	wantState(t, s, unit.Reservation, sale.OrderRefunded)
	wantHeld(t, s, "phone", 0)
}

func TestApplyPayment_LateWhoseReservationWasOrderedFirst(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	rs := ordered(t, s, "phone", 2, 2)
	for i, r := range rs {
		expired(t, s, "phone", r)
		unit := lateUnit(r)
		order(t, s, batchOf("phone", unit.Reservation)) // the sweeper was first
		if i == 1 {                                     // and its order has expired since
			expired(t, s, "phone", unit.Reservation)
			late := success(r)
			storePayment(t, s, late, StoredNew)
			a := applyPayment(t, s, late.EventID, unit) // of the first order in the chain, not the last
			if !a.NeedsUnit || a.Order.RID != unit.Reservation.RID {
				t.Fatalf("a chain of two: %+v", a)
			}
			second := lateUnit(unit.Reservation)
			if a := applyPayment(t, s, late.EventID, second); a.Result != sale.PaymentReplaced {
				t.Errorf("a chain of two: %+v", a)
			}
			unit = second
		} else {
			wantPayment(t, s, success(r), sale.PaymentReplaced, "")
		}
		wantState(t, s, unit.Reservation, sale.OrderPaid)
	}
	wantHeld(t, s, "phone", 2)
	rows, err := s.AuditSale(t.Context(), "phone")
	if err != nil {
		t.Fatal(err)
	}
	replaced := map[string]string{}
	for _, o := range rows.Orders {
		replaced[o.RID] = o.Replaces
	}
	second := sale.LateRID(rs[1].RID)
	for rid, want := range map[string]string{
		rs[0].RID: "", sale.LateRID(rs[0].RID): rs[0].RID, rs[1].RID: "", second: rs[1].RID, sale.LateRID(second): second,
	} {
		if replaced[rid] != want {
			t.Errorf("order %s replaces %q, want %q", rid, replaced[rid], want)
		}
	}
}

func TestApplyPayment_LateWithoutAUnitIsOwed(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	rs := ordered(t, s, "phone", 4, 4)
	expired(t, s, "phone", rs[0])
	expired(t, s, "phone", rs[1])
	expired(t, s, "phone", rs[2])
	expired(t, s, "phone", rs[3])
	again := reservation(rs[1].UserID, 1, 90) // the buyer has bought again: Redis has forgotten it
	others := []sale.Reservation{reservation("x", 1, 91), reservation("y", 1, 92), reservation("z", 1, 93)}
	order(t, s, batchOf("phone", append(others, again)...))
	refused := lateUnit(rs[0])
	refused.Refused = sale.OwedNoUnit
	stale, early := *refused, success(rs[0])
	stale.Epoch = 0
	storePayment(t, s, early, StoredNew)
	if a := applyPayment(t, s, early.EventID, &stale); !a.NeedsUnit {
		t.Errorf("refused at an epoch that is over: %+v", a)
	}
	exec(t, s, `DELETE FROM payments WHERE event_id = $1`, early.EventID)
	for i, c := range []struct {
		late *LateUnit
		want sale.OwedReason
	}{{refused, sale.OwedNoUnit}, {lateUnit(rs[1]), sale.OwedNoSlot}, {lateUnit(rs[2]), sale.OwedNoUnit}} {
		e := success(rs[i])
		storePayment(t, s, e, StoredNew)
		if a := applyPayment(t, s, e.EventID, c.late); a.Result != sale.PaymentOwed || a.Reason != c.want {
			t.Errorf("%d: %s %s, want %s", i, a.Result, a.Reason, c.want)
		}
	}
	wantState(t, s, lateUnit(rs[2]).Reservation, sale.OrderRejected)
	wantPayment(t, s, success(rs[2]), sale.PaymentOwed, sale.OwedRejected)
	exec(t, s, `UPDATE sales SET rebuilding = true`)
	last := success(rs[3])
	if a := wantPayment(t, s, last, sale.PaymentWaits, ""); a.NeedsUnit || a.NeedsRelease {
		t.Errorf("during a rebuild: %+v", a)
	}
	exec(t, s, `UPDATE sales SET rebuilding = false, retired = true`)
	if a := applyPayment(t, s, last.EventID, nil); a.Reason != sale.OwedRetired {
		t.Errorf("retired: %+v", a)
	}
	wantHeld(t, s, "phone", 4)
}

// TestApplyPayment_UnitOfAPaymentThatIsOwedComesBack is of two workers that ask Redis for
// one payment: the first when there is no unit, the second when one has come back.
func TestApplyPayment_UnitOfAPaymentThatIsOwedComesBack(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	rs := ordered(t, s, "phone", 1, 1)
	expired(t, s, "phone", rs[0])
	late := success(rs[0])
	storePayment(t, s, late, StoredNew)
	refused, unit := lateUnit(rs[0]), lateUnit(rs[0])
	refused.Refused, refused.Reservation = sale.OwedNoUnit, sale.Reservation{}
	if a := applyPayment(t, s, late.EventID, refused); a.Reason != sale.OwedNoUnit {
		t.Fatalf("refused: %+v", a)
	}
	for range 2 {
		if a := applyPayment(t, s, late.EventID, unit); !a.Passed {
			t.Errorf("with a unit: %+v", a)
		}
	}
	wantState(t, s, unit.Reservation, sale.OrderExpired)
	wantHeld(t, s, "phone", 0)
	releases, err := s.UnappliedReleases(t.Context(), 10, nil)
	if err != nil || len(releases) != 1 || releases[0].RID != unit.Reservation.RID || releases[0].Give != 1 {
		t.Errorf("releases %+v, error %v", releases, err)
	}
	order(t, s, batchOf("phone", unit.Reservation)) // swept
	wantHeld(t, s, "phone", 0)
	wantPayment(t, s, success(rs[0]), sale.PaymentWaits, "")
}

// Many payments wait; when Postgres last counted there were none.
func TestPayPending_LooksUpTheEventsByTheirIDs(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	rs := freshReservations(500)
	loaded(t, s, "phone", 1000)
	order(t, s, batchOf("phone", rs...))
	exec(t, s, `INSERT INTO payments (event_id, type, order_id, amount, currency, restock, occurred_at, result, applied_at)
		SELECT 'applied-' || n, 'payment.succeeded', gen_random_uuid(), 1, 'CNY', false, now(), 'paid', now() FROM generate_series(1, 10000) n`)
	exec(t, s, `ANALYZE`)
	var events []sale.PaymentEvent
	var ids []string
	for _, r := range rs {
		events = append(events, success(r))
		ids = append(ids, "'"+events[len(events)-1].EventID+"'")
	}
	if _, err := s.StorePayments(t.Context(), events); err != nil {
		t.Fatal(err)
	}
	sql := strings.Replace(payPending, "$1", "ARRAY["+strings.Join(ids[:20], ",")+"]", 1)
	plan, err := collect(t.Context(), s.pool, pgx.RowTo[string], `EXPLAIN `+sql)
	if text := strings.Join(plan, "\n"); err != nil || !strings.Contains(text, "Index Cond: (event_id = ANY") || strings.Contains(text, "payments_unapplied") {
		t.Errorf("error %v, plan:\n%s", err, text)
	}
}

func TestPayPending_DoesTheOrdinaryAndLeavesTheRest(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	rs := ordered(t, s, "phone", 5, 4)
	expired(t, s, "phone", rs[3])
	ok, twice, wrong, late, early, refund := success(rs[0]), success(rs[1]), success(rs[2]), success(rs[3]), success(reservation("x", 1, 9)), refundOf(rs[2], true)
	again := twice
	again.EventID = "a-" + again.EventID
	wrong.AmountMinor++
	var ids []string
	for _, e := range []sale.PaymentEvent{ok, twice, again, wrong, late, early, refund} {
		storePayment(t, s, e, StoredNew)
		ids = append(ids, e.EventID)
	}
	paid, err := s.PayPending(t.Context(), ids)
	if err != nil || len(paid) != 2 || !slices.Contains(paid, ok.EventID) || slices.Contains(paid, twice.EventID) == slices.Contains(paid, again.EventID) {
		t.Errorf("paid %v, error %v", paid, err)
	}
	if paid, err := s.PayPending(t.Context(), ids); err != nil || len(paid) != 0 {
		t.Errorf("paid again: %v, error %v", paid, err)
	}
	wantState(t, s, rs[0], sale.OrderPaid)
	wantState(t, s, rs[1], sale.OrderPaid)
	wantState(t, s, rs[2], sale.OrderPending)
	wantHeld(t, s, "phone", 3)
	wantOpen(t, s, sale.OpenPayments{Waiting: 5})
}

// TestApplyPayment_RacingExpiry lets every order be expired and paid at once, each
// event twice, and each order by two events.
func TestApplyPayment_RacingExpiry(t *testing.T) {
	t.Parallel()
	const orders = 60
	s := newStore(t)
	rs := ordered(t, s, "phone", orders, orders)
	var events []sale.PaymentEvent
	for _, r := range rs {
		events = append(events, success(r), success(r))
	}
	if _, err := s.StorePayments(t.Context(), events); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), statementTimeout)
	defer cancel()
	var group sync.WaitGroup
	closing := func(i int) {
		l := `WITH c AS (UPDATE orders SET state = 'expired', shown_state = 'expired', holds_unit = false, holds_slot = false
			WHERE id = $1::text::uuid AND state = 'pending' RETURNING id, sale_id), r AS (
			INSERT INTO releases (rid, sale_id, status, reason, give, applied_at) SELECT id, sale_id, 'expired', '', 1, now() FROM c)
			UPDATE sale_stock SET held = held - 1 FROM c WHERE sale_stock.sale_id = c.sale_id`
		if _, err := s.pool.Exec(ctx, l, rs[i].RID); err != nil {
			t.Error(err)
		}
	}
	apply := func(i int) {
		r := rs[i/2]
		if _, err := s.PayPending(ctx, []string{events[i].EventID, events[(i+7)%len(events)].EventID}); err != nil {
			t.Error(err)
		}
		for late := (*LateUnit)(nil); ; {
			a, err := s.ApplyPayment(ctx, events[i].EventID, late)
			if err != nil {
				t.Error(err)
				return
			}
			if a.Passed || a.Result != sale.PaymentWaits {
				return
			}
			late = lateUnit(r)
		}
	}
	for i := range orders {
		group.Go(func() { closing(i) })
		for n := range 4 {
			group.Go(func() { apply(2*i + n%2) })
		}
	}
	group.Wait()
	for i := range events { // one that found the event in another's hands left it to that one
		apply(i)
	}
	rows, err := s.AuditSale(t.Context(), "phone")
	if err != nil {
		t.Fatal(err)
	}
	paid := map[string]int{}
	for _, o := range rows.Orders {
		if o.State == sale.OrderPaid {
			paid[o.RID]++
		}
	}
	replaced := 0
	for _, r := range rs {
		if n := paid[r.RID] + paid[sale.LateRID(r.RID)]; n != 1 {
			t.Errorf("order %s is paid %d times", r.RID, n)
		}
		replaced += paid[sale.LateRID(r.RID)]
	}
	t.Logf("%d paid in time, %d late", orders-replaced, replaced)
	wantHeld(t, s, "phone", orders)
	list := owed(t, s)
	if len(list) != orders || slices.ContainsFunc(list, func(o sale.RefundOwed) bool { return o.Reason != sale.OwedSecond }) {
		t.Errorf("%d refunds owed, want one an order", len(list))
	}
}
