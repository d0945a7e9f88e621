package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/loadtest/internal/chaos"
	"sluice/loadtest/internal/report"
	"sluice/shared/service"
)

// brokenReport is a report of two rounds of one row and one of each of three others.
func brokenReport(t *testing.T) (path string) {
	t.Helper()
	dir := t.TempDir()
	rep := report.Report{Faults: []report.Fault{
		{Row: "10", Name: "d", Fault: "f", Expect: "e", Seed: 1, BoundS: 5, NotRun: "no disk"},
		{Row: "7", Name: "a", Fault: "f | g", Expect: "e", Seed: 1, Hits: 3, RecoveryS: 1.5, BoundS: 10, Accepted: 5, Pass: true, InTime: true},
		{Row: "8", Name: "b", Fault: "f", Expect: "e", Seed: 1, Hits: 1, RecoveryS: 6, BoundS: 5, Shows: "I1", Pass: true},
		{Row: "9", Name: "c", Fault: "f", Expect: "e", Seed: 1, Hits: 1, BoundS: 5, Pass: true, InTime: true},
		{Row: "7", Name: "a", Fault: "f | g", Expect: "e", Seed: 2, Hits: 4, RecoveryS: 2.5, BoundS: 10, Accepted: 6, Unknown: 2},
	}}
	must(t, rep.Write(dir))
	return filepath.Join(dir, "report.json")
}

// wholeReport is a report of a round of each row, as edit leaves them.
func wholeReport(t *testing.T, rows []chaos.Row, edit func([]report.Fault) []report.Fault) (path string) {
	t.Helper()
	dir := t.TempDir()
	var rep report.Report
	for _, row := range rows {
		rep.Faults = append(rep.Faults, report.Fault{Row: row.ID, Name: row.Name, Seed: 1, Hits: 1, RecoveryS: 1, BoundS: 5, Pass: true, InTime: true})
	}
	rep.Faults = edit(rep.Faults)
	must(t, rep.Write(dir))
	return filepath.Join(dir, "report.json")
}

func asTheyAre(all []report.Fault) []report.Fault { return all }

func matrix(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := run(t.Context(), append([]string{"matrix"}, args...), func(string) string { return "" }, &out, &out)
	return out.String(), err
}

func TestMatrix_IsATableOfRowsWithTheirRounds(t *testing.T) {
	t.Parallel()
	got, err := matrix(t, "-report", brokenReport(t))
	must(t, err)
	if nine, ten := strings.Index(got, "| 9 c |"), strings.Index(got, "| 10 d |"); nine > ten {
		t.Errorf("not in the order of the matrix:\n%s", got)
	}
	for _, want := range []string{
		"5 rounds of 4 rows, seeds 1, 2, on ", "11 attempts were answered 202, 2 were left without",
		"| 7 a | f \\| g | e | 3, 4 | 2.5 s | 10 s | 1 of 2 |\n", "| 8 b | f | e | 1 | 6 s | 5 s | 1 of 1, 1 late; a control, which must show I1 |\n", "| 10 d | f | e | 0 | – | 5 s | not run |\n", "| 9 c | f | e | 1 | – | 5 s | 1 of 1 |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the matrix lacks %q:\n%s", want, got)
		}
	}
}

func TestMatrix_ReplacesWhatStandsBetweenTheMarks(t *testing.T) {
	t.Parallel()
	document := filepath.Join(t.TempDir(), "d.md")
	must(t, os.WriteFile(document, []byte("before\n"+matrixMarks.begins+"old\n"+matrixMarks.ends+"after\n"), 0o600))
	from := wholeReport(t, chaos.Rows(), asTheyAre)
	table, err := matrix(t, "-report", from)
	must(t, err)
	for range 2 {
		_, err = matrix(t, "-report", from, "-into", document)
		must(t, err)
	}
	got, err := os.ReadFile(document)
	must(t, err)
	if want := "before\n" + matrixMarks.begins + table + matrixMarks.ends + "after\n"; string(got) != want {
		t.Errorf("the document is\n%s\nwant\n%s", got, want)
	}
}

func TestMatrix_OfClustersHasMarksOfItsOwn(t *testing.T) {
	t.Parallel()
	document := filepath.Join(t.TempDir(), "d.md")
	must(t, os.WriteFile(document, []byte(matrixMarks.begins+"old\n"+matrixMarks.ends+clusterMatrixMarks.begins+clusterMatrixMarks.ends), 0o600))
	from := wholeReport(t, chaos.ClusterRows(), asTheyAre)
	table, err := matrix(t, "-report", from)
	must(t, err)
	_, err = matrix(t, "-cluster", "-report", from, "-into", document)
	must(t, err)
	got, err := os.ReadFile(document)
	must(t, err)
	if want := matrixMarks.begins + "old\n" + matrixMarks.ends + clusterMatrixMarks.begins + table + clusterMatrixMarks.ends; string(got) != want {
		t.Errorf("the document is\n%s\nwant\n%s", got, want)
	}
}

func TestMatrix_APartOfTheRowsReplacesNothing(t *testing.T) {
	t.Parallel()
	first := func(all []report.Fault) []report.Fault { return all[:1] }
	for name, c := range map[string]struct {
		from string
		args []string
		want string
	}{
		"one row":         {wholeReport(t, chaos.Rows(), first), nil, "lacks rounds of 43 of 44 rows (2, 3, "},
		"of clusters":     {wholeReport(t, chaos.ClusterRows(), first), []string{"-cluster"}, "lacks rounds of 5 of 6 rows (25, 37, 40c, 41c, 44): run loadtest chaos -cluster with"},
		"the other rows":  {wholeReport(t, chaos.ClusterRows(), asTheyAre), nil, "of 44 rows"},
		"interrupted":     {wholeReport(t, chaos.Rows(), func(all []report.Fault) []report.Fault { all[42].Interrupted = true; return all }), nil, "1 of 44 rows (42)"},
		"a seed is short": {wholeReport(t, chaos.Rows(), func(all []report.Fault) []report.Fault { again := all[0]; again.Seed = 2; return append(all, again) }), nil, "43 of 44 rows"},
	} {
		document := filepath.Join(t.TempDir(), "d.md")
		const was = "<!-- matrix: make matrix -->\nold\n<!-- /matrix -->\n<!-- matrix: make cluster-matrix -->\nold\n<!-- /cluster matrix -->\n"
		must(t, os.WriteFile(document, []byte(was), 0o600))
		_, err := matrix(t, append(c.args, "-report", c.from, "-into", document)...)
		if !errors.Is(err, service.ErrUsage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if got, err := os.ReadFile(document); err != nil || string(got) != was {
			t.Errorf("%s: the document is\n%s", name, got)
		}
	}
	one, err := matrix(t, "-report", wholeReport(t, chaos.Rows(), first))
	if err != nil || !strings.HasPrefix(one, "1 round of 1 row, seed 1, on ") {
		t.Errorf("printed %q: %v", one, err)
	}
}

func TestMatrix_SaysWhatToDoWithoutARunOrMarks(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "d.md")
	must(t, os.WriteFile(empty, nil, 0o600))
	other := t.TempDir()
	must(t, report.Report{}.Write(other))
	for want, args := range map[string][]string{
		"run loadtest chaos first": {"-report", filepath.Join(t.TempDir(), "none.json")},
		"no rounds of chaos":       {"-report", filepath.Join(other, "report.json")},
		"is no report":             {"-report", empty},
		"lacks a line":             {"-report", wholeReport(t, chaos.Rows(), asTheyAre), "-into", empty},
	} {
		if _, err := matrix(t, args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}
