package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/loadtest/internal/report"
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
	from := brokenReport(t)
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
	from := brokenReport(t)
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
		"lacks a line":             {"-report", brokenReport(t), "-into", empty},
	} {
		if _, err := matrix(t, args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}
