package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/loadtest/internal/chaos"
	"sluice/loadtest/internal/report"
	"sluice/loadtest/internal/stack"
	"sluice/shared/service"
)

// The rows that every change is held against: gateways and workers die at exact points,
// stores lose what they had or do not answer.
func TestChaos_WhatIsAcceptedSurvivesTheShortSet(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 9*time.Minute)
	defer cancel()
	out := t.TempDir()
	var printed bytes.Buffer
	err := run(ctx, []string{"chaos", "-short", "-out", out, "-bin", programs(t)}, func(string) string { return "" }, &printed, &printed)
	if err != nil {
		t.Errorf("%v\n%s", err, printed.String())
	}
	var rep report.Report
	content, err := os.ReadFile(filepath.Join(out, "report.json"))
	must(t, err)
	must(t, json.Unmarshal(content, &rep))
	want := 0
	for _, row := range chaos.Rows() {
		if row.Short {
			want++
		}
	}
	if len(rep.Faults) != want {
		t.Errorf("%d rounds of %d rows", len(rep.Faults), want)
	}
	for _, f := range rep.Faults {
		if f.Hits == 0 || f.Accepted == 0 || f.RecoveryS <= 0 {
			t.Errorf("row %s shows nothing: %+v", f.Row, f)
		}
	}
}

func TestChaos_RefusesRowsThatAreNotThere(t *testing.T) {
	t.Parallel()
	for only, want := range map[string]string{"gateway-dies": `no row "gateway-dies"`, "1, 99": `no row "99"`} {
		var out bytes.Buffer
		err := run(t.Context(), []string{"chaos", "-only", only}, func(string) string { return "" }, &out, &out)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("-only %s: %v", only, err)
		}
	}
}

func TestChaos_RefusesToRunNoRowAndLeavesTheReportOfBefore(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	kept := filepath.Join(out, "report.json")
	must(t, os.WriteFile(kept, []byte("of before"), 0o600))
	for _, c := range []struct{ args, want string }{
		{"-only 10 -except 10", "no row is left: -only 10 and -except 10 leave none"},
		{"-short -only 9", "no row is left: -short and -only 9 leave none"},
		{"-cluster -short", "no row is left: -cluster and -short leave none"},
		{"-only 37", "37 needs -cluster"},
		{"-except stores-die-in-turn", "stores-die-in-turn needs -cluster"},
		{"-cluster -only 10", "10 is a row without clusters: leave -cluster"},
		{"-only ,", `-only (SLUICE_ONLY) is ","`},
		{"-except ,,", `-except (SLUICE_EXCEPT) is ",,"`},
		{"-only 10 -seed -1", "write a whole number, 0 or more"},
		{"-only 10 -seeds 0", "-seeds (SLUICE_SEEDS) must be 1 to 100, is 0"},
		{"-only 10 -seeds 9223372036854775807", "must be 1 to 100"},
		{"-only 10 -seeds 2 -seed 18446744073709551615", "-seed (SLUICE_SEED) is 18446744073709551615, and there are no 2 seeds"},
	} {
		var printed bytes.Buffer
		err := run(t.Context(), append([]string{"chaos", "-out", out}, strings.Fields(c.args)...), func(string) string { return "" }, &printed, &printed)
		if !errors.Is(err, service.ErrUsage) || !strings.Contains(err.Error(), c.want) || printed.Len() > 0 {
			t.Errorf("%s: %v, want %q; printed %s", c.args, err, c.want, printed.String())
		}
	}
	if got, err := os.ReadFile(kept); err != nil || string(got) != "of before" {
		t.Errorf("the report of before is %q: %v", got, err)
	}
}

// earlierReport is a directory with the report of an earlier run.
func earlierReport(t *testing.T) (out string, stands func() bool) {
	t.Helper()
	out = t.TempDir()
	must(t, report.Report{Words: []string{"of an earlier run"}}.Write(out))
	was, err := os.ReadFile(filepath.Join(out, "report.json"))
	must(t, err)
	return out, func() bool {
		is, err := os.ReadFile(filepath.Join(out, "report.json"))
		return err == nil && bytes.Equal(is, was)
	}
}

func TestChaos_AMistakeLeavesTheReportOfAnEarlierRun(t *testing.T) {
	t.Parallel()
	some := t.TempDir() // with files that have the names of programs
	for _, name := range []string{"gateway", "worker", "warmup", "nats-server"} {
		must(t, os.WriteFile(filepath.Join(some, name), nil, 0o600))
	}
	none := t.TempDir()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"chaos", "-only", "10", "-bin", none}, "gateway is not in " + none},
		{[]string{"mutants", "-bin", none}, "gateway is not in " + none},
		{[]string{"soak", "-bin", none}, "gateway is not in " + none},
		{[]string{"chaos", "-only", "10,38c", "-bin", some, "-src", none}, none + " is not the root of Sluice's sources: name it with -src"},
		{[]string{"mutants", "-only", "sweeper_off", "-bin", some, "-src", none}, none + " is not the root of Sluice's sources: name it with -src"},
	} {
		out, stands := earlierReport(t)
		var printed bytes.Buffer
		err := run(t.Context(), append(c.args, "-out", out), func(string) string { return "" }, &printed, &printed)
		if err == nil || !strings.Contains(err.Error(), c.want) || !stands() || printed.Len() > 0 {
			t.Errorf("%v: %v, want %q; the earlier report stands: %t; printed %s", c.args, err, c.want, stands(), printed.String())
		}
	}
	for _, command := range []string{"chaos", "mutants"} {
		out, stands := earlierReport(t)
		release, err := stack.Hold(out)
		must(t, err)
		err = run(t.Context(), []string{command, "-bin", some, "-out", out}, func(string) string { return "" }, new(bytes.Buffer), new(bytes.Buffer))
		if err == nil || !strings.Contains(err.Error(), "another stack runs with the output directory "+out) || !stands() {
			t.Errorf("%s: %v; the earlier report stands: %t", command, err, stands())
		}
		must(t, release())
	}
}

func TestChaos_ToldToEndSaysSoAndFailsNothing(t *testing.T) {
	t.Parallel()
	bin := programs(t)
	out, stands := earlierReport(t)
	ctx, end := context.WithCancel(t.Context())
	end()
	var printed bytes.Buffer
	err := run(ctx, []string{"chaos", "-only", "10,22", "-out", out, "-bin", bin}, func(string) string { return "" }, &printed, &printed)
	if !errors.Is(err, chaos.ErrInterrupted) || errors.Is(err, errVerdict) || errors.Is(err, service.ErrUsage) || stands() {
		t.Errorf("%v; the earlier report stands: %t", err, stands())
	}
	if got := printed.String(); !strings.Contains(got, "verdict: interrupted\n") || strings.Contains(got, "FAIL") {
		t.Errorf("printed\n%s", got)
	}
	var rep report.Report
	content, err := os.ReadFile(filepath.Join(out, "report.json"))
	must(t, err)
	must(t, json.Unmarshal(content, &rep))
	if rep.Version == "" || !rep.Interrupted || rep.Verdict.Pass || len(rep.Verdict.Violations) > 0 || len(rep.Faults) != 2 {
		t.Errorf("the report is\n%s", content)
	}
	if _, err := os.Stat(filepath.Join(out, "stack-0-seed-1")); err == nil {
		t.Error("a stack was set up")
	}
	page, err := os.ReadFile(filepath.Join(out, "report.html"))
	must(t, err)
	if strings.Contains(string(page), "<h2>Orders</h2>") {
		t.Error("the page counts orders, which nobody counted")
	}
	for _, want := range []string{"<title>Sluice chaos: interrupted</title>", "<strong>Interrupted</strong>", "redis-restarts-empty", "nats-restarts", "not run: interrupted"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestChaos_LeavesRowsOut(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	must(t, run(t.Context(), []string{"chaos", "-list", "-only", "10,22,redis-is-full", "-except", "nats-restarts, 36"}, func(string) string { return "" }, &out, &out))
	if got := out.String(); !strings.HasPrefix(got, "10  redis-restarts-empty  ") || strings.Count(got, "\n") != 1 {
		t.Errorf("listed %q", got)
	}
	err := run(t.Context(), []string{"chaos", "-list", "-except", "99"}, func(string) string { return "" }, &out, &out)
	if err == nil || !strings.Contains(err.Error(), `-except (SLUICE_EXCEPT) names no row "99"`) {
		t.Errorf("-except 99: %v", err)
	}
}

func TestChaos_RowsOfClustersAreApart(t *testing.T) {
	t.Parallel()
	list := func(args ...string) string {
		t.Helper()
		var out bytes.Buffer
		must(t, run(t.Context(), append([]string{"chaos", "-list"}, args...), func(string) string { return "" }, &out, &out))
		return out.String()
	}
	names := make(map[string]bool)
	for _, row := range append(chaos.Rows(), chaos.ClusterRows()...) {
		if names[row.ID] || names[row.Name] {
			t.Errorf("row %s %s has the number or name of another", row.ID, row.Name)
		}
		names[row.ID], names[row.Name] = true, true
	}
	if plain, cluster := list(), list("-cluster"); strings.Contains(plain, "slot-moves") || !strings.Contains(cluster, "\n37   slot-moves") || strings.Contains(cluster, "redis-restarts-empty") {
		t.Errorf("without -cluster:\n%s\nwith it:\n%s", plain, cluster)
	}
}

func TestChaos_ListsItsRows(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	must(t, run(t.Context(), []string{"chaos", "-list", "-only", "redis-restarts-empty"}, func(string) string { return "" }, &out, &out))
	if got := out.String(); !strings.HasPrefix(got, "10  redis-restarts-empty  within 15 s  Redis is killed") || strings.Count(got, "\n") != 1 {
		t.Errorf("listed %q", got)
	}
	out.Reset()
	must(t, run(t.Context(), []string{"chaos", "-list", "-only", "23c"}, func(string) string { return "" }, &out, &out))
	if got := out.String(); !strings.Contains(got, "  within 20 s, a control  ") {
		t.Errorf("listed %q", got)
	}
}
