package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/mix"
	"sluice/loadtest/internal/report"
)

func noEnv(string) string { return "" }

func TestAttack_QuickTellsWhatBecameOfEveryAttempt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	out := t.TempDir()
	var stdout, stderr bytes.Buffer
	if err := attackCommand(ctx, []string{"-quick", "-processes", "3", "-gateways", "1", "-out", out, "-bin", programs(t)}, noEnv, &stdout, &stderr); err != nil {
		t.Fatalf("%v\n%s\n%s", err, &stdout, &stderr)
	}
	content, err := os.ReadFile(filepath.Join(out, "report.json"))
	must(t, err)
	var rep report.Report
	must(t, json.Unmarshal(content, &rep))
	if !rep.Verdict.Pass || rep.Orders.Total == 0 || rep.Funnel["request"].Entered != 900 || rep.QueueWait.Max <= 0 || rep.DBWritesPerS <= 0 {
		t.Errorf("verdict %+v, orders %+v, funnel %+v", rep.Verdict, rep.Orders, rep.Funnel)
	}
	answers, _ := rep.Config["answers"].(map[string]any)
	all := 0.0
	for class, n := range answers {
		all += n.(float64)
		if float64(rep.Latency[class].Count) != n {
			t.Errorf("%s: %v answers, %d latencies", class, n, rep.Latency[class].Count)
		}
	}
	if all != 900 || answers["in_stock.accepted"].(float64) > float64(rep.Orders.Total) {
		t.Errorf("%v answers, %+v", all, rep.Orders)
	}
	for _, class := range []string{"in_stock.accepted", "in_stock.replay", "sold_out.sold_out", "early.not_open", "poll.read", "poll.held"} {
		if rep.Latency[class].Count == 0 {
			t.Errorf("no latency of %s", class)
		}
	}
	if len(rep.Timeline) == 0 || len(rep.Settings) != 1 || len(rep.Processes) < 6 || len(rep.NotMeasured) == 0 || len(rep.Tables) != 1 || len(rep.Tables[0].Rows) != 2 {
		t.Errorf("timeline of %d, settings %+v, processes %+v, not measured %q, tables %+v", len(rep.Timeline), rep.Settings, rep.Processes, rep.NotMeasured, rep.Tables)
	}
	for _, want := range append(rep.Words, "No oversell in 1 round of", "of 900 answered", "verdict: pass", filepath.Join(out, "report.html")) {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("%q is not printed", want)
		}
	}
}

func TestAttack_WhatCannotBeAskedForIsRefusedByItsName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mixFile := filepath.Join(dir, "mix.yaml")
	must(t, os.WriteFile(mixFile, []byte("sales: [{id: a, unit: 5}]"), 0o600))
	stackFile := func(name, text string) string {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	stores := `"redis": {"url": "r"}, "nats": {"url": "n"}, "postgres": {"url": "p"}`
	running := filepath.Dir(stackFile("up/stack.json", fmt.Sprintf(`{%s, "gateways": [{"pid": %d}]}`, stores, os.Getpid())))
	for want, args := range map[string][]string{
		"sales[0].unit":    {"-mix", mixFile},
		"SLUICE_MIX":       {"-mix", filepath.Join(dir, "missing.yaml")},
		"-arrivals":        {"-arrivals", "bursts"},
		"SLUICE_RATES":     {"-rates", "2000;5000"},
		"a rate must be":   {"-rates", "0"},
		"exactly 2 rates":  {"-arrivals", "spike", "-rates", "5"},
		"exactly 1 rate,":  {"-arrivals", "constant", "-rates", "100,200"},
		"-duration":        {"-duration", "0s"},
		"0 or more, is -3": {"-attempts", "-3"},
		"1m, is 0s":        {"-timeout", "0s"},
		"lacks redis.url, nats.url, postgres.url":        {"-stack", stackFile("empty.json", "{}"), "-bin", programs(t)},
		"lacks gateways, secrets.jwt_hs256":              {"-stack", stackFile("stores.json", "{"+stores+"}"), "-bin", programs(t)},
		"-gateways (SLUICE_GATEWAYS) is of a":            {"-stack", "stack.json", "-gateways", "5"},
		"directory of a running stack":                   {"-out", running},
		"-processes":                                     {"-processes", "17"},
		"-connections":                                   {"-processes", "4", "-connections", "3"},
		"leave -stack":                                   {"-quick", "-stack", filepath.Join(dir, "stack.json")},
		"-first (SLUICE_FIRST) must be 0 or more, is -1": {"-first", "-1"},
		"SLUICE_STACK":                                   {"-stack", filepath.Join(dir, "stack.json"), "-bin", programs(t)},
		"SLUICE_BIN":                                     {"-bin", dir},
		"-gateways":                                      {"-gateways", "0", "-bin", programs(t), "-out", dir},
		"unexpected argument":                            {"now"},
	} {
		var stdout, stderr bytes.Buffer
		if err := attackCommand(t.Context(), args, noEnv, &stdout, &stderr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
	}
}

func TestSayUnits_NamesTheSalesThatHaveOthersThanTheMix(t *testing.T) {
	t.Parallel()
	s := sell(t)
	stores, err := collect.Open(t.Context(), s.urls, slog.New(slog.DiscardHandler))
	must(t, err)
	defer stores.Close()
	entry, err := stores.Postgres.Entry(t.Context(), s.id)
	must(t, err)
	var out bytes.Buffer
	for _, units := range []int64{entry.Total, entry.Total + 7} {
		must(t, sayUnits(t.Context(), stores, mix.Mix{Sales: []mix.Sale{{ID: s.id, Count: 1, Units: units}}}, &out))
	}
	if want := fmt.Sprintf("sale %s has %d units in the stack, and %d in the mix\n", s.id, entry.Total, entry.Total+7); out.String() != want {
		t.Errorf("%q, want %q", &out, want)
	}
}
