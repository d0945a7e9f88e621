package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/loadtest/internal/chaos"
	"sluice/loadtest/internal/report"
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
	if got := out.String(); !strings.HasPrefix(got, "10  redis-restarts-empty  ") || strings.Count(got, "\n") != 1 {
		t.Errorf("listed %q", got)
	}
}
