package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sluice/loadtest/internal/report"
	"sluice/shared/devstack"
)

// What a second holds on a machine that runs other tests is nobody's promise. What the
// worker's pace does about a database that is throttled, or slow, is.
func TestPace_QuickShowsThePaceAtWork(t *testing.T) {
	t.Parallel()
	for scenario, limit := range map[string]string{"throttle": "pace", "latency": "latency"} {
		t.Run(scenario, func(t *testing.T) {
			if !devstack.Long() && scenario != "throttle" {
				t.Skip("its part of make long: it is measured and judged as the other is")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
			defer cancel()
			rep := quickPace(ctx, t, scenario)
			if len(rep.Promises) == 0 || len(rep.Paces) != 1 || len(rep.Paces[0].Marks) == 0 || rep.Orders.Total == 0 {
				t.Fatalf("promises %+v, paces %+v, orders %+v", rep.Promises, rep.Paces, rep.Orders)
			}
			limited := false
			for _, s := range rep.Paces[0].Samples {
				limited = limited || s.LimitedBy == limit
				if s.Told && (s.Target <= 0 || s.LimitedBy == "" || s.Consumers < 1) {
					t.Errorf("half told: %+v", s)
				}
			}
			if !limited {
				t.Errorf("never limited by %s", limit)
			}
		})
	}
}

// quickPace runs one scenario. Of its verdict only what no machine excuses fails the test.
func quickPace(ctx context.Context, t *testing.T, scenario string) (rep report.Report) {
	t.Helper()
	out := t.TempDir()
	var stdout, stderr bytes.Buffer
	err := paceCommand(ctx, []string{"-quick", "-only", scenario, "-out", out, "-bin", programs(t)}, func(string) string { return "" }, &stdout, &stderr)
	t.Logf("%s\n%s", &stdout, &stderr)
	if !errors.Is(err, errVerdict) {
		must(t, err)
	}
	content, err := os.ReadFile(filepath.Join(out, "report.json"))
	must(t, err)
	must(t, json.Unmarshal(content, &rep))
	for _, v := range rep.Verdict.Violations {
		if v.Invariant != "pace" {
			t.Errorf("%s: %s", v.Invariant, v.Detail)
		}
	}
	return rep
}
