package pgstore

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// over makes a loaded sale that closed an hour ago.
func over(t *testing.T, s *Store, id string) {
	t.Helper()
	loaded(t, s, id, 5)
	exec(t, s, `UPDATE sales SET opens_at = now() - interval '2 hours', closes_at = now() - interval '1 hour' WHERE sale_id = $1`, id)
}

func TestRetire_OnlyWhatHasNothingLeftToDo(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	over(t, s, "phone")
	for name, change := range map[string]struct{ do, undo string }{
		"a rebuild": {`UPDATE sales SET rebuilding = true`, `UPDATE sales SET rebuilding = false`},
		"a pending order": {`INSERT INTO orders (id, sale_id, user_id, slot, idempotency_key, rank, accepted_at, amount, currency, state, shown_state, holds_unit, holds_slot, expires_at)
			VALUES (gen_random_uuid(), 'phone', 'ann', 1, '', 1, now(), 1, 'CNY', 'pending', 'pending', true, true, now())`, `DELETE FROM orders`},
		"an order not shown": {`INSERT INTO orders (id, sale_id, user_id, slot, idempotency_key, rank, accepted_at, amount, currency, state, shown_state, holds_unit, holds_slot)
			VALUES (gen_random_uuid(), 'phone', 'ann', 1, '', 1, now(), 1, 'CNY', 'paid', 'pending', true, true)`, `DELETE FROM orders`},
		"a stock adjustment": {`INSERT INTO stock_adjustments (id, sale_id, delta, state, who, operator, address) VALUES ('a', 'phone', 1, 'counted', '', '', '')`, `DELETE FROM stock_adjustments`},
		"a payment of an expired order": {`WITH late AS (INSERT INTO orders (id, sale_id, user_id, slot, idempotency_key, rank, accepted_at, amount, currency, state, shown_state, holds_unit, holds_slot)
			VALUES (gen_random_uuid(), 'phone', 'ann', 1, '', 1, now(), 1, 'CNY', 'expired', 'expired', false, false) RETURNING id)
			INSERT INTO payments (event_id, type, order_id, amount, currency, restock, occurred_at) SELECT 'late', 'payment.succeeded', id, 1, 'CNY', false, now() FROM late`,
			`WITH late AS (DELETE FROM payments) DELETE FROM orders`},
		"a release": {`INSERT INTO releases (rid, sale_id, status, reason, give) VALUES (gen_random_uuid(), 'phone', 'expired', '', 1)`, `DELETE FROM releases`},
	} {
		exec(t, s, change.do)
		if _, err := s.Retire(t.Context(), "phone", 1, time.Minute); !errors.Is(err, ErrRemains) {
			t.Errorf("with %s: %v", name, err)
		}
		exec(t, s, change.undo)
	}
	if _, err := s.Retire(t.Context(), "phone", 1, 2*time.Hour); !errors.Is(err, ErrRemains) {
		t.Errorf("before the retention is over: %v", err)
	}
	if _, err := s.Retire(t.Context(), "phone", 2, time.Minute); !errors.Is(err, ErrStaleEpoch) {
		t.Errorf("at another epoch: %v", err)
	}
	if _, err := s.Retire(t.Context(), "pear", 1, 0); !errors.Is(err, ErrNoSale) {
		t.Errorf("unknown: %v", err)
	}
	first, err := s.Retire(t.Context(), "phone", 1, time.Minute)
	if err != nil || !first.Retired {
		t.Fatalf("%+v, %v", first, err)
	}
	again, err := s.Retire(t.Context(), "phone", 1, time.Minute)
	if err != nil || again.Rev != first.Rev {
		t.Errorf("repeated: rev %d after %d, %v", again.Rev, first.Rev, err)
	}
	if _, err := s.Order(t.Context(), batchOf("phone", reservation("ann", 1, 1))); !errors.Is(err, ErrRetired) {
		t.Errorf("an order: %v", err)
	}
}

func TestRetire_SaleThatWasClosedEarlyIsOverFromThenOn(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 5)
	exec(t, s, `UPDATE sales SET opens_at = now() - interval '2 hours', closes_at = now() + interval '10 years', closed_at = now() - interval '1 hour'`)
	if ids, err := s.Over(t.Context(), 30*time.Minute); err != nil || !slices.Equal(ids, []string{"phone"}) {
		t.Errorf("over are %v, %v", ids, err)
	}
	if r, err := s.Remains(t.Context(), "phone", 30*time.Minute); err != nil || r.Wait != 0 {
		t.Errorf("waits %v more, %v", r.Wait, err)
	}
	if _, err := s.Retire(t.Context(), "phone", 1, 30*time.Minute); err != nil {
		t.Error(err)
	}
}

func TestRetire_MarksLeadOutOfEveryLoop(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	over(t, s, "phone")
	over(t, s, "pear")
	ids, err := s.Over(t.Context(), 30*time.Minute)
	slices.Sort(ids)
	if err != nil || !slices.Equal(ids, []string{"pear", "phone"}) {
		t.Fatalf("%v, %v", ids, err)
	}
	if _, err := s.Retire(t.Context(), "phone", 1, 0); err != nil {
		t.Fatal(err)
	}
	counts := func() (n [4]int) {
		t.Helper()
		over, err1 := s.Over(t.Context(), 0)
		uncleared, err2 := s.Uncleared(t.Context())
		unforgotten, err3 := s.Unforgotten(t.Context(), 0)
		entries, err4 := s.Entries(t.Context())
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			t.Fatal(err)
		}
		return [4]int{len(over), len(uncleared), len(unforgotten), len(entries)}
	}
	if got := counts(); got != [4]int{1, 1, 0, 2} {
		t.Errorf("retired: %v", got)
	}
	mark := func(mark func() error) {
		t.Helper()
		if err := mark(); err != nil {
			t.Fatal(err)
		}
	}
	mark(func() error { return s.MarkCleared(t.Context(), "phone") })
	if got := counts(); got != [4]int{1, 0, 1, 2} {
		t.Errorf("cleared: %v", got)
	}
	mark(func() error { return s.MarkForgotten(t.Context(), "phone") })
	if got := counts(); got != [4]int{1, 0, 0, 1} {
		t.Errorf("forgotten: %v", got)
	}
	if n, err := s.Remember(t.Context(), []string{"phone", "pear"}); n != 0 || err != nil {
		t.Errorf("just forgotten and taken up again: %d, %v", n, err)
	}
	exec(t, s, `UPDATE sales SET forgotten_at = now() - interval '1 hour' WHERE forgotten_at IS NOT NULL`)
	if n, err := s.Remember(t.Context(), []string{"phone", "pear"}); n != 1 || err != nil {
		t.Errorf("taken up again: %d, %v", n, err)
	}
	if got := counts(); got != [4]int{1, 1, 0, 2} {
		t.Errorf("taken up again: %v", got)
	}
}

func TestRetire_LaterReleasesNeedNoRedis(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	over(t, s, "phone")
	over(t, s, "pear")
	if _, err := s.Retire(t.Context(), "phone", 1, 0); err != nil {
		t.Fatal(err)
	}
	exec(t, s, `INSERT INTO releases (rid, sale_id, status, reason, give) SELECT gen_random_uuid(), sale_id, 'refunded', '', 0 FROM sales`)
	if pending, err := s.UnappliedReleases(t.Context(), 10, nil); err != nil || len(pending) != 1 || pending[0].SaleID != "pear" {
		t.Errorf("for Redis: %v, %v", pending, err)
	}
	for _, want := range []int64{1, 0} {
		if n, err := s.ApplyRetired(t.Context()); n != want || err != nil {
			t.Errorf("%d marked, want %d, %v", n, want, err)
		}
	}
}
