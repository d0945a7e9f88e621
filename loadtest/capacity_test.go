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

	"sluice/loadtest/internal/capacity"
	"sluice/shared/service"
)

// capacityReport is what a run of loadtest capacity wrote.
type capacityReport struct {
	Verdict  struct{ Pass bool }
	Promises []struct {
		Name  string
		Known bool
	}
	Tables []struct{ Title string }
	Words  []string
	Config struct {
		Costs  *capacity.Costs
		Answer capacity.Answer
	}
}

func planned(t *testing.T, args ...string) (rep capacityReport) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	out := t.TempDir()
	var printed, stderr bytes.Buffer
	err := capacityCommand(ctx, append([]string{"-out", out}, args...), func(string) string { return "" }, &printed, &stderr)
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, &printed, &stderr)
	}
	content, err := os.ReadFile(filepath.Join(out, "report.json"))
	must(t, err)
	must(t, json.Unmarshal(content, &rep))
	return rep
}

func TestCapacity_QuickMeasuresPredictsAndAnswers(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	document := filepath.Join(out, "page.md")
	must(t, os.WriteFile(document, []byte("before\n"+capacityMarks.begins+"old\n"+capacityMarks.ends+"after\n"), 0o600))
	var stdout, stderr bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	if err := capacityCommand(ctx, []string{"-quick", "-out", out, "-bin", programs(t), "-into", document}, func(string) string { return "" }, &stdout, &stderr); err != nil {
		t.Fatalf("%v\n%s\n%s", err, &stdout, &stderr)
	}
	var rep capacityReport
	content, err := os.ReadFile(filepath.Join(out, "report.json"))
	must(t, err)
	must(t, json.Unmarshal(content, &rep))
	if !rep.Verdict.Pass || len(rep.Tables) != 3 || len(rep.Promises) != 5 || rep.Config.Costs == nil {
		t.Fatalf("report: %s", content)
	}
	for _, p := range rep.Promises {
		if !p.Known || !strings.HasPrefix(p.Name, "error_2_") {
			t.Errorf("prediction %+v", p)
		}
	}
	c := rep.Config.Costs
	if c.Script[capacity.Gateways] <= 0 || c.Order[capacity.Postgres] <= 0 || c.Together < 1 || c.Message <= 0 || c.BytesPerOrder <= 0 {
		t.Errorf("costs are %+v", c)
	}
	if a := rep.Config.Answer; a.Gateways < 1 || a.UntilLast <= 0 || !strings.Contains(stdout.String(), a.Binds) {
		t.Errorf("answer is %+v", a)
	}
	page, err := os.ReadFile(document)
	must(t, err)
	if text := string(page); !strings.HasPrefix(text, "before\n") || !strings.HasSuffix(text, "after\n") || strings.Contains(text, "old\n") || !strings.Contains(text, "| refusal |") {
		t.Errorf("the page says %s", page)
	}
	again := planned(t, "-costs", filepath.Join(out, "report.json"), "-buyers", "1000", "-units", "10", "-sales", "1")
	if a := again.Config.Answer; a.Demand.Buyers != 1000 || a.Shards != 1 || len(again.Tables) != 1 {
		t.Errorf("from the same costs: %+v", a)
	}
}

func TestCapacity_RefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "report.json")
	must(t, os.WriteFile(empty, []byte(`{"config": {}}`), 0o600))
	for want, args := range map[string][]string{
		"utilisation must be above 0":     {"-utilisation", "1"},
		"no more than there are attempts": {"-buyers", "10", "-units", "1000"},
		"rounds":                          {"-rounds", "0"},
		"leave -costs":                    {"-costs", empty, "-into", empty},
		"has no costs":                    {"-costs", empty},
		"no such file or directory":       {"-costs", empty + "x"},
		"is not a number of anything":     {"-units", "NaN"},
		"which has the costs":             {"-costs", empty, "-out", filepath.Dir(empty)},
		"lacks a line":                    {"-into", empty},
	} {
		var stdout, stderr bytes.Buffer
		err := capacityCommand(t.Context(), append([]string{"-out", t.TempDir()}, args...), func(string) string { return "" }, &stdout, &stderr)
		if !errors.Is(err, service.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", args, err, want)
		}
	}
}
