package pgstore

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/shared/sale"
)

func alertsForTest() (firing, resolved sale.Alert) {
	at := time.Date(2026, 12, 1, 10, 0, 0, 123456000, time.UTC)
	firing = sale.Alert{AlertKey: sale.AlertKey{Name: sale.AlertBacklogStalled, SaleID: "phone"}, State: sale.AlertFiring, Value: 7, Summary: "seven", Since: at, FiredAt: at.Add(time.Second)}
	resolved = sale.Alert{AlertKey: sale.AlertKey{Name: sale.AlertDependencyDown, Dependency: "nats"}, State: sale.AlertResolved, Value: 0.5,
		Since: at, FiredAt: at, ResolvedAt: at.Add(time.Minute), ClearSince: at.Add(time.Second), Told: sale.AlertFiring}
	return firing, resolved
}

func wantAlerts(t *testing.T, s *Store, want ...sale.Alert) {
	t.Helper()
	got, err := s.Alerts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	byKey := map[sale.AlertKey]sale.Alert{}
	for _, a := range got {
		byKey[a.AlertKey] = a
	}
	wanted := map[sale.AlertKey]sale.Alert{}
	for _, a := range want {
		wanted[a.AlertKey] = a
	}
	if diff := cmp.Diff(wanted, byKey); diff != "" {
		t.Error(diff)
	}
}

func TestAlerts_AreKeptByOneProcessAndReadByAll(t *testing.T) {
	t.Parallel()
	url := schemaURL(t)
	one, other := openStore(t, url), openStore(t, url)
	if _, err := one.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	keeper, err := one.KeepAlerts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.KeepAlerts(t.Context()); !errors.Is(err, ErrLocked) {
		t.Fatalf("a second keeper: %v", err)
	}
	firing, resolved := alertsForTest()
	if err := keeper.SaveAlerts(t.Context(), []sale.Alert{firing, resolved}, nil); err != nil {
		t.Fatal(err)
	}
	wantAlerts(t, other, firing, resolved)
	firing.Told, firing.Value = sale.AlertFiring, 8
	if err := keeper.SaveAlerts(t.Context(), []sale.Alert{firing}, []sale.AlertKey{resolved.AlertKey}); err != nil {
		t.Fatal(err)
	}
	wantAlerts(t, other, firing)
	keeper.Close()
	next, err := other.KeepAlerts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if got, err := next.Alerts(t.Context()); err != nil || len(got) != 1 || got[0] != firing {
		t.Errorf("the next keeper reads %+v, %v", got, err)
	}
}

// A process that was frozen must not write over what another has written since.
func TestAlerts_AKeeperThatLostItsSessionWritesNothing(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	keeper, err := s.KeepAlerts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer keeper.Close()
	exec(t, s, `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted
		AND ((classid::bigint << 32) | objid::bigint) = `+alertsLock)
	next, err := s.KeepAlerts(t.Context())
	for deadline := time.Now().Add(30 * time.Second); errors.Is(err, ErrLocked) && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond) // the session has yet to end
		next, err = s.KeepAlerts(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	firing, _ := alertsForTest()
	if err := keeper.SaveAlerts(t.Context(), []sale.Alert{firing}, nil); err == nil {
		t.Error("it wrote")
	}
	wantAlerts(t, s)
}

func TestDeviations_AreOfTheNewestFinishedRunAndSurplusOfAllLately(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	run := func(finished bool, sales map[string][]sale.Finding) {
		t.Helper()
		n, err := s.BeginReconciliation(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		for id, findings := range sales {
			if err := s.SaveReconciliation(t.Context(), sale.Reconciliation{Run: n, SaleID: id, Findings: findings}); err != nil {
				t.Fatal(err)
			}
		}
		if finished {
			if err := s.FinishReconciliation(t.Context(), n); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := func(lately time.Duration, want ...Deviation) {
		t.Helper()
		if got, err := s.Deviations(t.Context(), "surplus", lately); err != nil || !slices.Equal(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
	found := func(kind string, amount int64) sale.Finding {
		return sale.Finding{Kind: kind, Amount: amount, Counts: true}
	}
	want(time.Hour)
	run(true, map[string][]sale.Finding{"a": {found("surplus", 2), found("old", 1)}})
	run(true, map[string][]sale.Finding{"a": {found("surplus", 3), found("held", 4), {Kind: "young", Amount: 9}}, "b": {found("held", 1)}})
	run(false, map[string][]sale.Finding{"a": {found("unfinished", 1)}})
	want(time.Hour, Deviation{"a", "held", 4}, Deviation{"a", "surplus", 5}, Deviation{"b", "held", 1})
	exec(t, s, `UPDATE reconciliation_runs SET finished_at = finished_at - interval '2 hours'`)
	want(time.Hour, Deviation{"a", "held", 4}, Deviation{"b", "held", 1})
	work, err := s.OpenWork(t.Context())
	if err != nil || work != (OpenWork{}) {
		t.Errorf("open work %+v, %v", work, err)
	}
	exec(t, s, `INSERT INTO dead_letters (sale_id, epoch, sequence, header, payload, reason) VALUES ('a', 1, 1, '', 'x', 'r'), ('a', 1, 2, '', 'y', 'r')`)
	exec(t, s, `UPDATE dead_letters SET state = 'dropped' WHERE sequence = 2`)
	if work, err = s.OpenWork(t.Context()); err != nil || work != (OpenWork{DeadLetters: 1}) {
		t.Errorf("open work %+v, %v", work, err)
	}
}
