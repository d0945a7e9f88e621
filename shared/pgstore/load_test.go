package pgstore

import (
	"errors"
	"slices"
	"testing"
	"time"

	"sluice/shared/sale"
)

func TestBeginLoad_HandsOutRisingEpochs(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	apply(t, s, config("phone", 10))

	for _, step := range []struct{ above, epoch, rev int64 }{{0, 1, 2}, {0, 2, 3}, {7, 8, 4}, {3, 9, 5}} {
		entry, err := s.BeginLoad(t.Context(), "phone", step.above)
		if err != nil {
			t.Fatal(err)
		}
		if entry.Epoch != step.epoch || entry.Rev != step.rev || !entry.Rebuilding {
			t.Errorf("above %d: epoch %d, rev %d, rebuilding %v", step.above, entry.Epoch, entry.Rev, entry.Rebuilding)
		}
	}
}

func TestBeginLoad_RefusesWhatCannotBeLoaded(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	apply(t, s, config("gone", 10))
	exec(t, s, `UPDATE sales SET retired = true`)

	if _, err := s.BeginLoad(t.Context(), "gone", 0); !errors.Is(err, ErrRetired) {
		t.Errorf("error = %v, want ErrRetired", err)
	}
	if _, err := s.BeginLoad(t.Context(), "nothing", 0); !errors.Is(err, ErrNoSale) {
		t.Errorf("error = %v, want ErrNoSale", err)
	}
	if entry := entryOf(t, s, "gone"); entry.Epoch != 0 || entry.Rebuilding {
		t.Errorf("a retired sale changed: %+v", entry)
	}
}

func TestFinishLoad_EndsTheRebuildOfItsEpochOnly(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10) // epoch 1, rev 3

	again, err := s.FinishLoad(t.Context(), "phone", 1)
	if err != nil || again.Rebuilding || again.Rev != 3 {
		t.Errorf("repeated: %+v, error %v, want rev 3", again, err)
	}
	if _, err := s.BeginLoad(t.Context(), "phone", 0); err != nil {
		t.Fatal(err)
	}
	if _, err := s.FinishLoad(t.Context(), "phone", 1); !errors.Is(err, ErrStaleEpoch) {
		t.Errorf("error = %v, want ErrStaleEpoch", err)
	}
	if entry := entryOf(t, s, "phone"); !entry.Rebuilding || entry.Epoch != 2 {
		t.Errorf("the later load was ended: %+v", entry)
	}
	if _, err := s.FinishLoad(t.Context(), "nothing", 1); !errors.Is(err, ErrNoSale) {
		t.Errorf("error = %v, want ErrNoSale", err)
	}
}

func TestLoadState_CountsAndListsOfOneSale(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	loaded(t, s, "watch", 10)
	rs := reservations(3)
	order(t, s, batchOf("phone", rs...))
	order(t, s, batchOf("watch", reservations(2)...))
	if err := letGo(t.Context(), s, rs[0].RID); err != nil {
		t.Fatal(err)
	}

	state, err := s.LoadState(t.Context(), "phone")

	if err != nil || state.Total != 10 || state.Held != 2 || len(state.Orders) != 3 {
		t.Errorf("state = %+v, error %v, want 2 of 10 held, closed orders listed too", state, err)
	}
	if _, err := s.LoadState(t.Context(), "nothing"); !errors.Is(err, ErrNoSale) {
		t.Errorf("error = %v, want ErrNoSale", err)
	}
}

// Postgres has sent everything while Redis still takes in the first page.
func TestCount_LastsAsLongAsItsPartsTake(t *testing.T) {
	t.Parallel()
	const statement = 200 * time.Millisecond
	url := schemaURL(t)
	prepared := openStore(t, url)
	if _, err := prepared.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	loaded(t, prepared, "phone", 10)
	s, err := Open(t.Context(), Config{URL: url, StatementTimeout: statement})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	order(t, s, batchOf("phone", reservations(3)...))
	if _, err := s.BeginLoad(t.Context(), "phone", 0); err != nil {
		t.Fatal(err)
	}
	tickets := 0
	err = s.Count(t.Context(), "phone", 2, sale.LoadParts{
		Live:     func(sale.Live) error { return nil },
		Allow:    func([]string) error { return nil },
		Adjusted: func([]sale.Adjustment) error { return nil },
		Tickets: func(page []sale.LoadTicket) error {
			tickets += len(page)
			time.Sleep(3 * statement)
			return nil
		},
	})
	if err != nil || tickets != 3 {
		t.Errorf("%d tickets, error %v", tickets, err)
	}
}

func TestLockSale_IsExclusiveUntilUnlocked(t *testing.T) {
	t.Parallel()
	url := schemaURL(t)
	one, two := openStore(t, url), openStore(t, url)
	unlock, err := one.LockSale(t.Context(), "phone")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Store{one, two} {
		if _, err := s.LockSale(t.Context(), "phone"); !errors.Is(err, ErrLocked) {
			t.Errorf("error = %v, want ErrLocked", err)
		}
	}
	other, err := two.LockSale(t.Context(), "watch")
	if err != nil {
		t.Fatalf("another sale: %v", err)
	}
	other()
	unlock()
	again, err := two.LockSale(t.Context(), "phone")
	if err != nil {
		t.Fatalf("after unlock: %v", err)
	}
	again()
}

func TestLockSale_EndsWithItsConnection(t *testing.T) {
	t.Parallel()
	url := schemaURL(t)
	one, two := openStore(t, url), openStore(t, url)
	unlock, err := one.LockSale(t.Context(), "phone")
	if err != nil {
		t.Fatal(err)
	}
	exec(t, two, `SELECT pg_terminate_backend(pid) FROM pg_locks
		WHERE locktype = 'advisory' AND granted AND (classid::bigint << 32 | objid::bigint) = `+saleLock, "phone")

	eventually(t, "the lock is free", func() bool {
		again, err := two.LockSale(t.Context(), "phone")
		if err == nil {
			again()
		}
		return err == nil
	})
	unlock() // of a lock that is gone: no harm
	if err := one.Ping(t.Context()); err != nil {
		t.Errorf("the pool did not recover: %v", err)
	}
}

func TestAuditSale_ReadsEverythingAsOfOneMoment(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 2)
	rs := reservations(3)
	order(t, s, batchOf("phone", rs...))
	if _, err := s.MarkApplied(t.Context(), []string{rs[2].RID}); err != nil {
		t.Fatal(err)
	}

	rows, err := s.AuditSale(t.Context(), "phone")

	if err != nil || rows.Entry.Epoch != 1 || rows.Total != 2 || rows.Held != 2 || rows.Unapplied != 0 {
		t.Errorf("rows = %+v, error %v", rows, err)
	}
	if len(rows.Releases) != 1 || rows.Releases[0].RID != rs[2].RID {
		t.Errorf("releases = %+v, want the applied one of the surplus", rows.Releases)
	}
	byRID := slices.IndexFunc(rows.Orders, func(o sale.Order) bool { return o.RID == rs[2].RID })
	if len(rows.Orders) != 3 || rows.Orders[byRID].HoldsUnit {
		t.Errorf("orders = %+v", rows.Orders)
	}
	if _, err := s.AuditSale(t.Context(), "nothing"); !errors.Is(err, ErrNoSale) {
		t.Errorf("error = %v, want ErrNoSale", err)
	}
}

// The server has to notice by itself that the machine of a lock's holder is gone.
func TestOpen_ConnectionsOfAMachineThatIsGoneEndWithinHalfAMinute(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	var idle, interval, count int
	err := s.pool.QueryRow(t.Context(), `SELECT current_setting('tcp_keepalives_idle')::integer,
		current_setting('tcp_keepalives_interval')::integer, current_setting('tcp_keepalives_count')::integer`).Scan(&idle, &interval, &count)
	if err != nil || idle+interval*count > 30 {
		t.Errorf("noticed after %d s + %d × %d s, %v", idle, interval, count, err)
	}
}
