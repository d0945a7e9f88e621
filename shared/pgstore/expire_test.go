package pgstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// overdue puts the end of the time to pay of these orders into the past.
func overdue(t testing.TB, s *Store, rs ...sale.Reservation) {
	t.Helper()
	rids := make([]string, len(rs))
	for i, r := range rs {
		rids[i] = r.RID
	}
	exec(t, s, `UPDATE orders SET expires_at = now() - interval '2 seconds' WHERE id = ANY ($1::text[]::uuid[])`, rids)
}

func expire(t testing.TB, s *Store, saleID string, limit int) int64 {
	t.Helper()
	n, err := s.Expire(t.Context(), saleID, limit)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func wantState(t testing.TB, s *Store, r sale.Reservation, want sale.OrderState) {
	t.Helper()
	o, found, err := s.OrderOf(t.Context(), r.UserID, r.RID)
	if err != nil || !found || o.State != want || o.HoldsUnit != want.HoldsUnit() {
		t.Errorf("order %s: found %v, state %s, holds a unit %v, error %v; want %s", r.RID, found, o.State, o.HoldsUnit, err, want)
	}
}

func TestExpire_TakesPendingOrdersThatAreDueAndNoOthers(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	loaded(t, s, "watch", 10)
	rs := reservations(5)
	order(t, s, batchOf("phone", rs...))
	overdue(t, s, rs[:4]...)
	exec(t, s, `UPDATE orders SET state = 'paid' WHERE id = $1::text::uuid`, rs[3].RID)

	if due, err := s.DueSales(t.Context()); err != nil || !slices.Equal(due, []string{"phone"}) {
		t.Errorf("due sales = %v, error %v", due, err)
	}
	if first, second, third := expire(t, s, "phone", 2), expire(t, s, "phone", 2), expire(t, s, "phone", 2); first != 2 || second != 1 || third != 0 {
		t.Errorf("expired %d, %d, %d, want 2, 1, 0", first, second, third)
	}
	wantHeld(t, s, "phone", 2)
	wantState(t, s, rs[3], sale.OrderPaid)
	wantState(t, s, rs[4], sale.OrderPending)
	for _, r := range rs[:3] {
		wantState(t, s, r, sale.OrderExpired)
	}
	if due, err := s.DueSales(t.Context()); err != nil || len(due) != 0 {
		t.Errorf("due sales afterwards = %v, error %v", due, err)
	}
	pending, err := s.UnappliedReleases(t.Context(), 10, nil)
	if err != nil || len(pending) != 3 {
		t.Fatalf("%d releases, error %v", len(pending), err)
	}
	want := PendingRelease{Release: sale.Release{RID: rs[0].RID, SaleID: "phone", Status: sale.StatusExpired, Give: 1, Slot: sale.SlotOpens}, Epoch: 1}
	i := slices.IndexFunc(pending, func(p PendingRelease) bool { return p.RID == rs[0].RID })
	if diff := cmp.Diff(want, pending[i]); diff != "" {
		t.Errorf("release (-want +got):\n%s", diff)
	}
	if _, err := s.Expire(t.Context(), "nothing", 1); err == nil {
		t.Error("a sale that does not exist has expired orders")
	}
}

func TestMarkApplied_TellsTheDelayOfAnExpiryOnce(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 1)
	rs := reservations(2) // the second is surplus: nothing was late
	order(t, s, batchOf("phone", rs...))
	overdue(t, s, rs[0])
	expire(t, s, "phone", 10)
	for _, want := range []int{1, 0} {
		delays, err := s.MarkApplied(t.Context(), []string{rs[0].RID, rs[1].RID})
		if err != nil || len(delays) != want {
			t.Fatalf("delays = %v, error %v, want %d", delays, err, want)
		}
		if want == 1 && (delays[0] < 2*time.Second || delays[0] > time.Minute) {
			t.Errorf("delay = %v, want a little over 2s", delays[0])
		}
	}
}

func TestExpire_UnitsAreSoldAgainOnceAndOldOnesStayExpired(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 3)
	old := reservations(3)
	order(t, s, batchOf("phone", old...))
	overdue(t, s, old...)
	expire(t, s, "phone", 10)

	again := reservations(4) // the same buyers and slots, and one more
	wantCounts(t, order(t, s, batchOf("phone", again...)), 3, 0, 0, 1)
	result := order(t, s, batchOf("phone", old...)) // redelivered
	wantCounts(t, result, 0, 3, 0, 0)
	for _, v := range result.Verdicts {
		if v.State != sale.OrderExpired {
			t.Errorf("verdict = %+v, want expired", v)
		}
	}
	wantHeld(t, s, "phone", 3)
}

func TestLetGo_KeepsTheSlotWhereNoSecondPurchaseIsAllowed(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 3)
	exec(t, s, `UPDATE sales SET rebuy_after_release = false`)
	old := reservations(2)
	order(t, s, batchOf("phone", old...))
	overdue(t, s, old[0])
	expire(t, s, "phone", 10)
	if _, cancelled, _, err := s.Cancel(t.Context(), old[1].UserID, old[1].RID); !cancelled || err != nil {
		t.Fatalf("cancelled %v, error %v", cancelled, err)
	}
	wantHeld(t, s, "phone", 0)

	again := reservations(3)
	result := order(t, s, batchOf("phone", again...))
	wantCounts(t, result, 1, 0, 2, 0)
	if v := verdictOf(t, result, again[0].RID); v.Holder != old[0].RID {
		t.Errorf("verdict = %+v, want duplicate of the expired one", v)
	}
	wantHeld(t, s, "phone", 1)
}

func TestExpire_WorkersAtOnceShareTheOrders(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	const units = 300
	loaded(t, s, "phone", units)
	rs := reservations(units)
	order(t, s, batchOf("phone", rs...))
	overdue(t, s, rs...)
	watch := watchStock(t, s, "phone")
	var expired atomic.Int64
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for {
				due, err := s.DueSales(t.Context())
				if err != nil {
					t.Error(err)
				}
				if len(due) == 0 {
					return
				}
				n, err := s.Expire(t.Context(), "phone", 7)
				if err != nil {
					t.Error(err)
					return
				}
				expired.Add(n)
			}
		})
	}
	group.Wait()
	watch()
	if expired.Load() != units {
		t.Errorf("%d expired together, want %d", expired.Load(), units)
	}
	wantHeld(t, s, "phone", 0)
	if got := unapplied(t, s, 2*units); len(got) != units {
		t.Errorf("%d releases, want %d", len(got), units)
	}
}

func TestExpire_PassesOverWhatAnotherHasInHand(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 2)
	rs := reservations(2)
	order(t, s, batchOf("phone", rs...))
	overdue(t, s, rs...)
	err := pgx.BeginFunc(t.Context(), s.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), `UPDATE orders SET state = 'paid' WHERE id = $1::text::uuid`, rs[0].RID)
		if n := expire(t, s, "phone", 1); n != 1 {
			t.Errorf("%d expired beside a payment, want 1", n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := expire(t, s, "phone", 1); n != 0 {
		t.Errorf("%d expired after the payment, want 0", n)
	}
	wantState(t, s, rs[0], sale.OrderPaid)
	wantHeld(t, s, "phone", 1)
}

// letGoOnce is fn without the second attempts: a deadlock is an error.
func letGoOnce(ctx context.Context, s *Store, saleID string, becomes sale.OrderState, fn func(*lettingGo) error) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		return fn(&lettingGo{tx: tx, saleID: saleID, becomes: becomes})
	})
}

func TestLetGo_BesideOrderBatchesWithoutDeadlock(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for round := range 12 {
		saleID := fmt.Sprintf("phone-%d", round)
		loaded(t, s, saleID, int64(10+2*round)) // from far too few units to enough
		exec(t, s, `UPDATE sales SET hold = interval '0', rebuy_after_release = $2 WHERE sale_id = $1`, saleID, round%3 != 0)
		watch := watchStock(t, s, saleID)
		check := func(err error) {
			if err != nil {
				t.Errorf("round %d: %v", round, err)
			}
		}
		var group sync.WaitGroup
		for range 2 {
			// The same slots, other rids. With the same rids at once two batches can
			// meet in a deadlock of their own, which Order survives by running again:
			// one inserts what the other rejects.
			rs := contested(60)
			group.Go(func() {
				for range 4 {
					check(orderOnce(t.Context(), s, batchOf(saleID, overlapping(rs, 30)...)))
				}
			})
			group.Go(func() {
				for _, r := range overlapping(rs, 30) {
					check(letGoOnce(t.Context(), s, saleID, sale.OrderCancelled, func(l *lettingGo) error {
						_, err := l.cancel(t.Context(), r.RID)
						return err
					}))
				}
			})
			group.Go(func() {
				for range 10 {
					check(letGoOnce(t.Context(), s, saleID, sale.OrderExpired, func(l *lettingGo) error {
						_, err := l.expire(t.Context(), 5)
						return err
					}))
				}
			})
		}
		group.Wait()
		watch()
	}
}

func TestDueSales_ReadsTheIndexOfDueOrders(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 2000)
	for range 4 {
		rs := reservations(500)
		for i := range rs {
			rs[i].UserID = rs[i].RID
		}
		order(t, s, batchOf("phone", rs...))
	}
	exec(t, s, `ANALYZE orders`)
	for _, sql := range []string{
		`SELECT FROM orders WHERE sale_id = 'phone' AND state = 'pending' AND expires_at <= now()`,
		`SELECT id FROM orders WHERE sale_id = 'phone' AND state = 'pending' AND expires_at <= now()
			ORDER BY expires_at LIMIT 200 FOR UPDATE SKIP LOCKED`,
	} {
		plan, err := collect(t.Context(), s.pool, pgx.RowTo[string], `EXPLAIN `+sql)
		if err != nil || !strings.Contains(strings.Join(plan, "\n"), "orders_due") {
			t.Errorf("error %v, plan:\n%s", err, strings.Join(plan, "\n"))
		}
	}
}

// Many payments wait; when Postgres last counted there were none.
func TestExpire_LooksUpThePaymentsOfEachOrder(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 1000)
	rs := freshReservations(500)
	order(t, s, batchOf("phone", rs...))
	exec(t, s, `ANALYZE`)
	var events []sale.PaymentEvent
	for _, r := range rs[:400] {
		events = append(events, success(r))
	}
	if _, err := s.StorePayments(t.Context(), events); err != nil {
		t.Fatal(err)
	}
	values := strings.NewReplacer("$1", "'phone'", "$4", "200")
	for _, sql := range []string{toExpire, dueSales} {
		plan, err := collect(t.Context(), s.pool, pgx.RowTo[string], `EXPLAIN `+values.Replace(sql))
		for _, want := range []string{"Index Cond: (order_id = o.id)", "Index Cond: (order_id = o.replaces)"} {
			if err != nil || !strings.Contains(strings.Join(plan, "\n"), want) {
				t.Errorf("error %v, no %q in plan:\n%s", err, want, strings.Join(plan, "\n"))
			}
		}
	}
}
