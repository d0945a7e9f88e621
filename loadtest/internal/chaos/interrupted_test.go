package chaos

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/loadtest/internal/report"
)

func never() bool { return false }

func TestUntil_TellsItsCallersEndFromItsOwn(t *testing.T) {
	t.Parallel()
	r := newRound(Row{ID: "0"}, 1, nil, nil, "", 0)
	if err := r.until(t.Context(), time.Millisecond, "the sun rises", never); !errors.Is(err, errNot) || !strings.HasSuffix(err.Error(), "the sun rises in 1ms") {
		t.Errorf("its own patience ends: %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := r.until(ended, time.Hour, "the sun rises", never); errors.Is(err, errNot) || !errors.Is(err, context.Canceled) {
		t.Errorf("its caller ends: %v", err)
	}
}

func TestRecovered_OnceItIsSeenAndNeverBecauseNobodyWaitsAnyLonger(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bound time.Duration
		is    func() bool
		want  string // the invariant that is violated
	}{
		"in time": {time.Minute, func() bool { return true }, ""},
		"not":     {time.Millisecond, never, "I9"},
	} {
		r := newRound(Row{ID: "0", Bound: c.bound, Run: func(ctx context.Context, r *Round) error {
			r.hit(1, "it was broken")
			for _, is := range []func() bool{func() bool { return true }, c.is} { // a row may heal more than once
				r.heal()
				if err := r.recoveredOnce(ctx, "all is well", is); err != nil {
					return err
				}
			}
			return nil
		}}, 1, nil, nil, "", 0)
		r.judged = true
		f := r.run(t.Context())
		well := c.want == ""
		if f.Pass != well || f.InTime != well || (f.RecoveryS > 0) != well || slices.Contains(f.Held(), "I9") != well || strings.Contains(f.Line(), "not recovered (0 s promised)") == well {
			t.Errorf("%s: %+v, %s", name, f, f.Line())
		}
		if !well && (len(f.Violations) != 1 || f.Violations[0].Invariant != c.want) {
			t.Errorf("%s: violations %v", name, f.Violations)
		}
	}
}

// stopping are three rows, of which the second is under way when the run is told to end.
func stopping(end context.CancelFunc) []Row {
	passes := func(_ context.Context, r *Round) error {
		r.hit(1, "it was broken")
		return nil
	}
	return []Row{
		{ID: "1", Name: "passes", Run: passes},
		{ID: "2", Name: "is-cut-off", Shows: []string{"I3"}, Run: func(ctx context.Context, r *Round) error {
			r.fail("I3", "nobody knows what became of it")
			end()
			return r.until(ctx, time.Hour, "all is well", never)
		}},
		{ID: "3", Name: "never-begins", Shows: []string{"I3"}, Run: passes},
	}
}

func TestOn_WhatIsInterruptedIsNeitherAPassNorAFailure(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancel(t.Context())
	var out bytes.Buffer
	all, err := Config{Rows: stopping(end), Seeds: []uint64{1}, OutDir: t.TempDir()}.On(ctx, nil, nil, &out)
	if !errors.Is(err, ErrInterrupted) || !strings.Contains(err.Error(), "2 of 3 rounds are not judged, or not run") || len(all) != 3 {
		t.Fatalf("%d rounds: %v", len(all), err)
	}
	if !all[0].Pass || all[0].Interrupted {
		t.Errorf("the first was over: %+v", all[0])
	}
	for i, want := range map[int]string{1: "NOT JUDGED: interrupted", 2: "NOT RUN: interrupted"} {
		f := all[i]
		if f.Pass || !f.Interrupted || len(f.Violations)+len(f.Shown)+len(f.Invariants) > 0 || f.Again != "" || !strings.Contains(f.Line(), want) {
			t.Errorf("%+v, %s; want %s", f, f.Line(), want)
		}
	}
	if got := out.String(); strings.Contains(got, "FAIL") || strings.Contains(got, "row 3") {
		t.Errorf("printed\n%s", got)
	}
}

func TestRun_ToldToEndSetsNothingMoreUp(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancel(t.Context())
	end()
	var out bytes.Buffer
	all, err := Run(ctx, Config{Rows: stopping(end), Seeds: []uint64{1, 2}, OutDir: t.TempDir(), BinDir: t.TempDir()}, &out)
	if !errors.Is(err, ErrInterrupted) || len(all) != 6 || out.Len() > 0 {
		t.Fatalf("%d rounds: %v, printed %s", len(all), err, out.String())
	}
	if i := slices.IndexFunc(all, func(f report.Fault) bool { return !f.Interrupted || f.NotRun == "" }); i >= 0 {
		t.Errorf("%+v", all[i])
	}
}

func TestOn_ARoundThatFailsSaysHowToRunItAgainAndWhereItsLogsAre(t *testing.T) {
	t.Parallel()
	fails := Row{ID: "13", Run: func(context.Context, *Round) error { return errors.New("a fault") }}
	clustered := fails
	clustered.ID, clustered.Stack.Cluster = "37", true
	all, err := Config{Rows: []Row{fails, clustered}, Seeds: []uint64{3}, OutDir: "out/chaos", BinDir: "bin"}.On(t.Context(), nil, nil, new(bytes.Buffer))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"bin/loadtest chaos -only 13 -seed 3 -out out/chaos/row-13-seed-3", "bin/loadtest chaos -cluster -only 37 -seed 3 -out out/chaos/row-37-seed-3"} {
		if line := all[i].Line(); !strings.Contains(line, "again: "+want) || !strings.Contains(line, "logs: out/chaos/logs") {
			t.Errorf("%s\nlacks %s", line, want)
		}
	}
	mutated, err := Config{Rows: []Row{fails}, Seeds: []uint64{3}, OutDir: "out", Mutation: "m"}.On(t.Context(), nil, nil, new(bytes.Buffer))
	if err != nil || mutated[0].Again != "" {
		t.Errorf("a row without a protection cannot be run by chaos: %+v, %v", mutated, err)
	}
}
