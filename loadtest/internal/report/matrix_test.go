package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"sluice/shared/sale"
)

// broken are rounds of three seeds, as a run has them: stack by stack, seed by seed.
func broken() (all []Fault) {
	for seed := uint64(1); seed <= 3; seed++ {
		all = append(all, brokenBy(Fault{Row: "24", Name: "postgres-down", Fault: "Postgres is down for 60 s", Expect: "attempts are accepted on", RecoveryS: 3.2 * float64(seed), BoundS: 30}, seed),
			brokenBy(Fault{Row: "3", Name: "acknowledgement-lost", Fault: "what JetStream answers does not arrive", Expect: "503 with the ticket; one order", RecoveryS: 7.5 * float64(seed), BoundS: 15}, seed))
	}
	all[2].Violations, all[2].Pass = []sale.Violation{{Invariant: "I3", Detail: "0192e4a0-7c3b-7def-8123-456789abcdef was answered 202 and has no order"}}, false
	for seed := uint64(1); seed <= 3; seed++ {
		control := brokenBy(Fault{Row: "23c", Name: "nats-loses-power-unsynced", Fault: "NATS loses power, and syncs every two minutes", Expect: "what was answered 202 is lost, and it shows", RecoveryS: 1, BoundS: 30}, seed)
		control.Shows, control.Shown = "I3 I7", []sale.Violation{{Invariant: "I3", Detail: "12 reservations were answered 202 and have no order"}}
		all = append(all, control)
	}
	return all
}

func brokenBy(f Fault, seed uint64) Fault {
	f.Seed, f.Pass, f.InTime, f.Hits, f.InjectedS, f.Accepted, f.Unknown = seed, true, f.RecoveryS <= f.BoundS, 120, 1.6, 1500, 12
	f.HitBy = []string{"120 attempts were left without a certain answer", "8,211 bytes of answers were lost"}
	f.Invariants = []string{"I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8", "I9"}
	return f
}

func TestMatrix_RoundsOfARowStandTogetherInTheMatrixsOrder(t *testing.T) {
	t.Parallel()
	m := Report{Faults: broken()}.matrix()
	var rows []string
	for _, row := range m.Rows {
		rows = append(rows, row.Row+" "+row.Word)
		if len(row.Rounds) != 3 || row.Rounds[0].Seed != "1" || row.Rounds[2].Seed != "3" {
			t.Errorf("row %s has rounds %+v", row.Row, row.Rounds)
		}
	}
	if want := []string{"3 pass, late", "23c pass", "24 FAIL, 1 of 3"}; !slices.Equal(rows, want) {
		t.Errorf("rows %q, want %q", rows, want)
	}
}

func TestMatrix_ARoundSaysWhatHeldWhatWasViolatedAndWhatWasShown(t *testing.T) {
	t.Parallel()
	m := Report{Faults: broken()}.matrix()
	failed, control := m.Rows[2].Rounds[1], m.Rows[1].Rounds[0]
	if slices.Contains(failed.Held, "I3") || !slices.Contains(failed.Held, "I1") || len(failed.Violated) != 1 || failed.Unjudged {
		t.Errorf("a failed round: %+v", failed)
	}
	if slices.Contains(control.Held, "I3") || len(control.Shown) != 1 || len(control.Violated) != 0 || control.Word != "pass" || m.Rows[1].Control != "I3 I7" {
		t.Errorf("a control: %+v of %+v", control, m.Rows[1])
	}
	late := m.Rows[0].Rounds
	if late[0].Late || late[0].Share != 50 || !late[2].Late || late[2].Share != 100 || late[2].Class != "late" {
		t.Errorf("recoveries: %+v", late)
	}
	notRun := Report{Faults: []Fault{{Row: "21", NotRun: "that takes root"}}}
	if got := notRun.matrix().Rows[0]; got.Word != "NOT RUN" || got.Rounds[0].Unjudged || !strings.Contains(pageOf(t, notRun), "not run: that takes root") {
		t.Errorf("a row that was not run: %+v", got)
	}
	if unjudged := (Fault{Pass: false}).round(); !unjudged.Unjudged {
		t.Error("a round that nobody has judged seems judged")
	}
}

func TestMatrix_PageMarksControlsFailuresAndHowHitsWereSeen(t *testing.T) {
	t.Parallel()
	r := Report{Faults: broken()}
	got := pageOf(t, r)
	for _, want := range []string{`class="passed control"`, "control: must show I3 I7", "violated: I3", "shown: I3", "8,211 bytes of answers were lost", "7.5 s of 15 s", "FAIL, 1 of 3", "2 of 3</strong><span>rows pass"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestMatrix_SummaryHasALineARow(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := (Report{Faults: broken()}).PrintFaults(&out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 4 {
		t.Fatalf("%d lines:\n%s", len(lines), out.String())
	}
	for i, want := range []string{"7.5 15.0 22.5", "(control)", "violated: I3"} {
		if !strings.Contains(lines[i+1], want) {
			t.Errorf("line %q lacks %q", lines[i+1], want)
		}
	}
}

func TestMatrix_ARoundThatDidNotRecoverHasNoRecoveryTime(t *testing.T) {
	t.Parallel()
	failed := Fault{Row: "13", Name: "stale", Seed: 1, Hits: 1, BoundS: 15, Violations: []sale.Violation{{Invariant: "I9", Detail: "it did not go on"}},
		Again: "bin/loadtest chaos -only 13 -seed 1", Logs: "out/logs"}
	r := Report{Faults: []Fault{failed, brokenBy(Fault{Row: "13", Name: "stale", RecoveryS: 3, BoundS: 15}, 2)}}
	if line := failed.Line(); !strings.Contains(line, "hits 1, not recovered (15 s promised)") {
		t.Error(line)
	}
	var printed, table bytes.Buffer
	if err := r.PrintFaults(&printed); err != nil || !strings.Contains(printed.String(), "– 3.0") {
		t.Errorf("%v\n%s", err, printed.String())
	}
	if err := r.PrintMatrix(&table); err != nil || !strings.Contains(table.String(), "| 1, 120 | 3 s | 15 s | 1 of 2 |") {
		t.Errorf("%v\n%s", err, table.String())
	}
	page := pageOf(t, r)
	for _, want := range []string{"none of 15 s", "3 s of 15 s", "<code>bin/loadtest chaos -only 13 -seed 1</code>", "<code>out/logs</code>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestMatrix_WhatWasInterruptedIsNoFailureAndNoPass(t *testing.T) {
	t.Parallel()
	r := Report{Faults: []Fault{brokenBy(Fault{Row: "1", RecoveryS: 1, BoundS: 5}, 1), {Row: "2", Seed: 1, Interrupted: true}, {Row: "3", Seed: 1, Interrupted: true, NotRun: "interrupted"},
		brokenBy(Fault{Row: "4", RecoveryS: 1, BoundS: 5}, 1), {Row: "4", Seed: 2, Interrupted: true, NotRun: "interrupted"}}}
	var words []string
	for _, row := range r.matrix().Rows {
		words = append(words, row.Word+", "+row.Class)
	}
	if want := []string{"pass, passed", "NOT JUDGED, undone", "NOT RUN, undone", "NOT JUDGED, 1 of 2, undone"}; !slices.Equal(words, want) {
		t.Errorf("rows %q", words)
	}
	if tiles := r.faultTiles(); tiles[0].Value != "1 of 4" {
		t.Errorf("%+v", tiles[0])
	}
	r.Verdict.Pass = true
	r.Interrupt()
	var printed bytes.Buffer
	if err := r.PrintVerdict(&printed); err != nil || printed.String() != "verdict: interrupted\n" {
		t.Errorf("%v: %q", err, printed.String())
	}
}
