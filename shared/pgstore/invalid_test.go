package pgstore

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"sluice/shared/sale"
)

const badUser = "user-bad"

// Ways in which the schema of a test refuses the reservations of badUser.
const (
	refuseOpen = `ALTER TABLE orders ADD CONSTRAINT bad CHECK (user_id <> 'user-bad' OR state = 'rejected') NOT VALID`
	refuseAll  = `ALTER TABLE orders ADD CONSTRAINT bad CHECK (user_id <> 'user-bad') NOT VALID`
	refuseNone = `ALTER TABLE orders DROP CONSTRAINT bad`
)

// raising makes every new order row of badUser run a PL/pgSQL statement.
func raising(t *testing.T, s *Store, statement string) {
	t.Helper()
	exec(t, s, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN IF NEW.user_id = 'user-bad' THEN `+statement+`; END IF; RETURN NEW; END $$`)
	exec(t, s, `CREATE TRIGGER refuse BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION refuse()`)
}

func reject(t *testing.T, s *Store, r sale.Reservation) Verdict {
	t.Helper()
	verdict, err := s.Reject(t.Context(), batchOf("phone", r), 7, errors.New("because"))
	if err != nil {
		t.Fatal(err)
	}
	return verdict
}

// letters are the dead letters as "rid sequence reason".
func letters(t *testing.T, s *Store) []string {
	t.Helper()
	found, err := collect(t.Context(), s.pool, scanLetter,
		`SELECT coalesce(rid::text, 'hand-over'), sequence, reason FROM dead_letters WHERE state = 'open' ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func scanLetter(row pgx.CollectableRow) (string, error) {
	var rid, reason string
	var sequence int64
	err := row.Scan(&rid, &sequence, &reason)
	return fmt.Sprintf("%s %d %s", rid, sequence, reason), err
}

func TestOrder_SaysWhenTheDataIsAtFaultAndWritesNothing(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(*testing.T, *Store){
		"constraint": func(t *testing.T, s *Store) { exec(t, s, refuseOpen) },
		"class 22":   func(t *testing.T, s *Store) { raising(t, s, `RAISE EXCEPTION USING ERRCODE = '22003'`) },
		"at commit": func(t *testing.T, s *Store) {
			exec(t, s, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
				BEGIN IF NEW.user_id = 'user-bad' THEN RAISE EXCEPTION USING ERRCODE = '23514'; END IF; RETURN NULL; END $$`)
			exec(t, s, `CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON orders DEFERRABLE INITIALLY DEFERRED
				FOR EACH ROW EXECUTE FUNCTION refuse()`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			loaded(t, s, "phone", 10)
			refuse(t, s)
			_, err := s.Order(t.Context(), batchOf("phone", append(reservations(3), reservation(badUser, 1, 4))...))
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("error %v, want %v", err, ErrInvalid)
			}
			wantHeld(t, s, "phone", 0)
		})
	}
}

func TestOrder_RIDThatIsNoUUIDIsInvalid(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	r := reservation("buyer", 1, 1)
	r.RID = "not-a-uuid"
	if _, err := s.Order(t.Context(), batchOf("phone", r)); !errors.Is(err, ErrInvalid) {
		t.Fatalf("error %v, want %v", err, ErrInvalid)
	}
	for range 2 {
		if v := reject(t, s, r); v.RID != r.RID || v.Reason != sale.ReasonInvalid {
			t.Errorf("verdict %+v", v)
		}
	}
	if diff := cmp.Diff([]string{"hand-over 7 because"}, letters(t, s)); diff != "" {
		t.Error(diff)
	}
}

func TestOrder_FaultsOfTheMomentAreNotInvalid(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		"deadlock":        `RAISE EXCEPTION USING ERRCODE = '40P01'`,
		"serialization":   `RAISE EXCEPTION USING ERRCODE = '40001'`,
		"disk full":       `RAISE EXCEPTION USING ERRCODE = '53100'`,
		"cancelled":       `RAISE EXCEPTION USING ERRCODE = '57014'`,
		"read only":       `RAISE EXCEPTION USING ERRCODE = '25006'`,
		"connection dies": `PERFORM pg_terminate_backend(pg_backend_pid())`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			loaded(t, s, "phone", 10)
			raising(t, s, statement)
			_, err := s.Order(t.Context(), batchOf("phone", reservation(badUser, 1, 1)))
			if err == nil || errors.Is(err, ErrInvalid) {
				t.Errorf("error %v, want a fault", err)
			}
		})
	}
}

func TestOrder_StatementTimeoutIsNotInvalid(t *testing.T) {
	t.Parallel()
	url := schemaURL(t)
	s := openStore(t, url)
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	loaded(t, s, "phone", 10)
	raising(t, s, `PERFORM pg_sleep(30)`)
	hasty, err := Open(t.Context(), Config{URL: url, StatementTimeout: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer hasty.Close()
	_, err = hasty.Order(t.Context(), batchOf("phone", reservation(badUser, 1, 1)))
	if err == nil || errors.Is(err, ErrInvalid) {
		t.Errorf("error %v, want a fault", err)
	}
}

func TestInvalid_TheStockRowIsNotTheReservations(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		want bool
	}{
		{&pgconn.PgError{Code: "23514", TableName: "orders"}, true},
		{&pgconn.PgError{Code: "22021"}, true},
		{&pgconn.PgError{Code: "23514", TableName: "sale_stock"}, false},
		{&pgconn.PgError{Code: "42P01"}, false},
		{errors.New("no answer"), false},
		{nil, false},
	} {
		if got := invalid(test.err); got != test.want {
			t.Errorf("%v: invalid = %t", test.err, got)
		}
	}
}

func TestReject_WritesRowReleaseAndDeadLetterOnce(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]string{"row allowed": refuseOpen, "no row allowed": refuseAll} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			loaded(t, s, "phone", 10)
			exec(t, s, refuse)
			bad := reservation(badUser, 1, 1)
			want := Verdict{RID: bad.RID, State: sale.OrderRejected, Reason: sale.ReasonInvalid, Fate: FateInvalid}
			if diff := cmp.Diff(want, reject(t, s, bad)); diff != "" {
				t.Error(diff)
			}
			want.Fate = FateKnown
			if diff := cmp.Diff(want, reject(t, s, bad)); diff != "" {
				t.Errorf("repeated: %s", diff)
			}
			// Neither a redelivery nor a schema that changed its mind decides it again.
			for range 2 {
				if diff := cmp.Diff(want, order(t, s, batchOf("phone", bad)).Verdicts[0]); diff != "" {
					t.Errorf("ordered: %s", diff)
				}
				exec(t, s, refuseNone)
				exec(t, s, refuse)
			}
			exec(t, s, refuseNone)
			if diff := cmp.Diff(want, order(t, s, batchOf("phone", bad)).Verdicts[0]); diff != "" {
				t.Errorf("ordered: %s", diff)
			}
			pending, err := s.UnappliedReleases(t.Context(), 10, nil)
			release := sale.Release{RID: bad.RID, SaleID: "phone", Status: sale.StatusRejected, Reason: sale.ReasonInvalid, Give: 1, Slot: sale.SlotOpens}
			if diff := cmp.Diff([]PendingRelease{{Release: release, Epoch: 1}}, pending); diff != "" || err != nil {
				t.Errorf("error %v, releases: %s", err, diff)
			}
			if diff := cmp.Diff([]string{bad.RID + " 7 because"}, letters(t, s)); diff != "" {
				t.Error(diff)
			}
			wantHeld(t, s, "phone", 0)
		})
	}
}

func TestReject_RowIsThereWhereTheSchemaTakesIt(t *testing.T) {
	t.Parallel()
	for refuse, want := range map[string]int{refuseOpen: 1, refuseAll: 0} {
		s := newStore(t)
		loaded(t, s, "phone", 10)
		exec(t, s, refuse)
		bad := reservation(badUser, 1, 1)
		reject(t, s, bad)
		state, err := s.LoadState(t.Context(), "phone")
		if err != nil || len(state.Orders) != want {
			t.Errorf("%s: error %v, orders %+v, want %d", refuse, err, state.Orders, want)
		}
		if want == 1 && (state.Orders[0].Reason != sale.ReasonInvalid || state.Orders[0].HoldsSlot) {
			t.Errorf("order %+v", state.Orders[0])
		}
	}
}

func TestReject_WhatTheSchemaRefusesAtCommitIsSetAsideToo(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	exec(t, s, `CREATE FUNCTION refuse_late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF NEW.user_id = 'user-bad' THEN RAISE EXCEPTION 'no' USING ERRCODE = '23514'; END IF; RETURN NULL; END $$`)
	exec(t, s, `CREATE CONSTRAINT TRIGGER late AFTER INSERT ON orders DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse_late()`)
	bad := reservation(badUser, 1, 1)
	if _, err := s.Order(t.Context(), batchOf("phone", bad)); !errors.Is(err, ErrInvalid) {
		t.Fatalf("order: %v, want ErrInvalid", err)
	}
	if v := reject(t, s, bad); v.Reason != sale.ReasonInvalid {
		t.Errorf("verdict %+v", v)
	}
	if got := letters(t, s); len(got) != 1 {
		t.Errorf("dead letters %v", got)
	}
	wantHeld(t, s, "phone", 0)
}

func TestReject_SlotOfAnotherGivesNothingBack(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	holder, bad := reservation(badUser, 1, 1), reservation(badUser, 1, 2)
	order(t, s, batchOf("phone", holder))
	exec(t, s, refuseAll)
	v := reject(t, s, bad)
	if v.Reason != sale.ReasonDuplicate || v.Holder != holder.RID || v.Fate != FateInvalid {
		t.Errorf("verdict %+v", v)
	}
	pending, err := s.UnappliedReleases(t.Context(), 10, nil)
	if err != nil || len(pending) != 1 || pending[0].Give != 0 || pending[0].Holder != holder.RID {
		t.Errorf("error %v, releases %+v", err, pending)
	}
	wantHeld(t, s, "phone", 1)
}

func TestReject_RepeatedWithValuesThatNoQueryTakesChangesNothing(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	bad := reservation("a\x00b", 1, 1)
	first := reject(t, s, bad)
	again := reject(t, s, bad)
	if first.State != sale.OrderRejected || again.State != sale.OrderRejected || again.Reason != first.Reason || again.Fate != FateKnown {
		t.Errorf("first %+v, again %+v", first, again)
	}
	if got := unapplied(t, s, 10); len(got) != 1 {
		t.Errorf("%d releases", len(got))
	}
}

func TestReject_LeavesADecidedOneAlone(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	r := reservation(badUser, 1, 1)
	order(t, s, batchOf("phone", r))
	exec(t, s, refuseAll) // from here on its redelivery is refused
	if _, err := s.Order(t.Context(), batchOf("phone", r)); !errors.Is(err, ErrInvalid) {
		t.Fatalf("error %v, want %v", err, ErrInvalid)
	}
	if v := reject(t, s, r); v.State != sale.OrderPending || v.Fate != FateKnown || v.PayBy.IsZero() {
		t.Errorf("verdict %+v", v)
	}
	if got := letters(t, s); len(got) != 0 {
		t.Errorf("dead letters %v", got)
	}
	wantHeld(t, s, "phone", 1)
}

func TestReject_ValuesNoQueryTakes(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	bad := reservation("user\x00", 1, 1)
	_, err := s.Order(t.Context(), batchOf("phone", bad))
	if !errors.Is(err, ErrInvalid) {
		t.Fatalf("error %v, want %v", err, ErrInvalid)
	}
	if _, err := s.Reject(t.Context(), batchOf("phone", bad), 7, err); err != nil {
		t.Fatal(err)
	}
	if got := unapplied(t, s, 10); len(got) != 1 || got[0] != bad.RID {
		t.Errorf("releases %v", got)
	}
	if got := letters(t, s); len(got) != 1 {
		t.Errorf("dead letters %v", got)
	}
}

func TestReject_RefusesAnOldEpoch(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	if _, err := s.BeginLoad(t.Context(), "phone", 0); err != nil {
		t.Fatal(err)
	}
	_, err := s.Reject(t.Context(), batchOf("phone", reservation(badUser, 1, 1)), 7, errors.New("because"))
	if !errors.Is(err, ErrStaleEpoch) {
		t.Errorf("error %v, want %v", err, ErrStaleEpoch)
	}
	if got := letters(t, s); len(got) != 0 {
		t.Errorf("dead letters %v", got)
	}
}

// One worker finds a reservation good and another finds it bad, as when the
// schema changes in between: exactly one of them decides it.
func TestReject_AgainstOrderOfTheSameRID(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 1000)
	rs := reservations(60)
	exec(t, s, `CREATE FUNCTION no_row() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN RAISE EXCEPTION USING ERRCODE = '23514'; END $$`)
	exec(t, s, `CREATE TRIGGER no_row BEFORE INSERT ON orders FOR EACH ROW WHEN (NEW.state = 'rejected') EXECUTE FUNCTION no_row()`)
	var group sync.WaitGroup
	for _, r := range rs {
		group.Go(func() {
			if _, err := s.Order(t.Context(), batchOf("phone", r)); err != nil {
				t.Error(err)
			}
		})
		group.Go(func() {
			if _, err := s.Reject(t.Context(), batchOf("phone", r), 7, errors.New("because")); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	both, err := collect(t.Context(), s.pool, scanCounts, `
		SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM releases), (SELECT count(*) FROM dead_letters),
			(SELECT count(*) FROM orders o JOIN releases r ON r.rid = o.id)`)
	if err != nil {
		t.Fatal(err)
	}
	c := both[0]
	if c[0]+c[1] != int64(len(rs)) || c[1] != c[2] || c[3] != 0 {
		t.Errorf("%d ordered, %d released, %d dead letters, %d both", c[0], c[1], c[2], c[3])
	}
	wantHeld(t, s, "phone", c[0])
	t.Logf("%d ordered, %d rejected", c[0], c[1])
}

func scanCounts(row pgx.CollectableRow) ([4]int64, error) {
	var c [4]int64
	err := row.Scan(&c[0], &c[1], &c[2], &c[3])
	return c, err
}

func TestBury_OneDeadLetterAHandOver(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	u := Unreadable{SaleID: "phone", Epoch: -3, Sequence: 9, Body: []byte("{\x00\xff"), Cause: errors.New("no \x01 JSON: ü")}
	for _, want := range []bool{true, false} {
		if created, err := s.Bury(t.Context(), u); err != nil || created != want {
			t.Errorf("created = %t, error %v, want %t", created, err, want)
		}
	}
	u.Body = nil // another stream's message of the same sequence
	if created, err := s.Bury(t.Context(), u); err != nil || !created {
		t.Errorf("created = %t, error %v, want another", created, err)
	}
	want := []string{"hand-over 9 no ? JSON: ?", "hand-over 9 no ? JSON: ?"}
	if diff := cmp.Diff(want, letters(t, s)); diff != "" {
		t.Error(diff)
	}
}

func TestUndecided_HasNeitherOrderNorDeadLetter(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	exec(t, s, refuseAll)
	ordered, bad, open := reservation("buyer", 1, 1), reservation(badUser, 1, 2), reservation("other", 1, 3)
	order(t, s, batchOf("phone", ordered))
	reject(t, s, bad)
	got, err := s.Undecided(t.Context(), []string{ordered.RID, "no-uuid", open.RID, bad.RID})
	if diff := cmp.Diff([]string{open.RID}, got); diff != "" || err != nil {
		t.Errorf("error %v: %s", err, diff)
	}
}
