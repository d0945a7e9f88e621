package main

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestBench_QuickMeasuresEveryRatio(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	out := t.TempDir()
	var stdout, stderr bytes.Buffer
	err := benchCommand(ctx, []string{"-quick", "-out", out, "-bin", programs(t)}, func(string) string { return "" }, &stdout, &stderr)
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, &stdout, &stderr)
	}
	content, err := os.ReadFile(filepath.Join(out, "report.json"))
	must(t, err)
	var rep struct {
		Verdict struct{ Pass bool }
		Orders  struct{ Total int }
		Ratios  map[string]struct{ Median, Min, Max float64 }
		Config  struct{ Rounds []map[string]float64 }
	}
	must(t, json.Unmarshal(content, &rep))
	want := []string{
		"accept512_vs_empty", "accept512_vs_one_by_one", "accept512_worker_running_vs_empty",
		"accept64_vs_empty", "accept64_vs_one_by_one", "accept64_worker_running_vs_empty",
		"orders_vs_one_per_tx", "orders_vs_raw_batch", "polling_share", "polling_share_fresh", "refusal_p99_vs_empty", "refusal_vs_empty",
	}
	if got := slices.Sorted(maps.Keys(rep.Ratios)); !slices.Equal(got, want) {
		t.Errorf("ratios %v, want %v", got, want)
	}
	for name, r := range rep.Ratios {
		if r.Min <= 0 || r.Median < r.Min || r.Max < r.Median {
			t.Errorf("%s is %+v", name, r)
		}
		if !strings.Contains(stdout.String(), name) {
			t.Errorf("%s is not printed", name)
		}
	}
	if !rep.Verdict.Pass || len(rep.Config.Rounds) != 1 || rep.Config.Rounds[0]["woken"] != 50 {
		t.Errorf("pass %v, rounds %v", rep.Verdict.Pass, rep.Config.Rounds)
	}
}

func TestBench_OnlyOrdersMeasuresOrdersAlone(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	out := t.TempDir()
	var stdout, stderr bytes.Buffer
	noEnv := func(string) string { return "" }
	err := benchCommand(ctx, []string{"-only", "orders", "-quick", "-out", out, "-bin", programs(t)}, noEnv, &stdout, &stderr)
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, &stdout, &stderr)
	}
	content, err := os.ReadFile(filepath.Join(out, "report.json"))
	must(t, err)
	var rep struct {
		Ratios map[string]struct{ Median float64 }
		Config struct{ Rounds []map[string]float64 }
	}
	must(t, json.Unmarshal(content, &rep))
	want := []string{"orders_vs_one_per_tx", "orders_vs_raw_batch"}
	if got := slices.Sorted(maps.Keys(rep.Ratios)); !slices.Equal(got, want) {
		t.Errorf("ratios %v, want %v", got, want)
	}
	for _, program := range []string{"worker", "postgres", "redis", "nats", "gateway"} {
		if _, ok := rep.Config.Rounds[0]["orders_"+program+"_cpu_ms_per_1000"]; !ok {
			t.Errorf("no CPU time of %s in %v", program, rep.Config.Rounds[0])
		}
	}
	if err := benchCommand(ctx, []string{"-only", "nothing"}, noEnv, &stdout, &stderr); err == nil {
		t.Error("an unknown part is measured")
	}
}
