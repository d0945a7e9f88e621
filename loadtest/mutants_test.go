package main

import (
	"bytes"
	"strings"
	"testing"

	"sluice/loadtest/internal/mutants"
	"sluice/loadtest/internal/report"
	"sluice/shared/sale"
)

func TestMutants_RefusesMutationsThatAreNotThere(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := run(t.Context(), []string{"mutants", "-only", "sweeper_off, gravity_off"}, func(string) string { return "" }, &out, &out)
	if err == nil || !strings.Contains(err.Error(), `no mutation "gravity_off"`) {
		t.Error(err)
	}
}

func TestMutants_ListsEachWithItsRow(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	must(t, run(t.Context(), []string{"mutants", "-list"}, func(string) string { return "" }, &out, &out))
	for _, m := range mutants.All() {
		if !strings.Contains(out.String(), m.Name) || !strings.Contains(out.String(), "row "+m.Row+" ") {
			t.Errorf("%s of row %s is not listed", m.Name, m.Row)
		}
	}
}

func TestMutantsReport_FailsForOneThatIsNotCaughtAndForARowThatFailsAnyway(t *testing.T) {
	t.Parallel()
	passing, failing := report.Fault{Row: "7"}, report.Fault{Row: "7", Violations: []sale.Violation{{Invariant: "I3", Detail: "gone"}}}
	for _, c := range []struct {
		name  string
		whole []report.Fault
		found []report.Mutant
		want  bool
	}{
		{"all are caught", []report.Fault{passing}, []report.Mutant{{Caught: true}}, true},
		{"one is not", []report.Fault{passing}, []report.Mutant{{Caught: true}, {}}, false},
		{"the row fails anyway", []report.Fault{failing}, nil, false},
		{"nothing was run", []report.Fault{passing}, nil, false},
	} {
		if rep := mutantsReport(c.whole, c.found, nil); rep.Verdict.Pass != c.want {
			t.Errorf("%s: %+v", c.name, rep.Verdict)
		}
	}
}
