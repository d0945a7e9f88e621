package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sluice/loadtest/internal/report"
)

// The command fails for a promise that is missed by more than a factor of three, and for
// an audit that fails.
func TestPace_QuickKeepsItsPromisesByFar(t *testing.T) {
	t.Parallel()
	for _, scenario := range []string{"throttle", "latency", "fair"} {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
			defer cancel()
			out := t.TempDir()
			var stdout, stderr bytes.Buffer
			err := paceCommand(ctx, []string{"-quick", "-only", scenario, "-out", out, "-bin", programs(t)}, func(string) string { return "" }, &stdout, &stderr)
			t.Logf("%s\n%s", &stdout, &stderr)
			must(t, err)
			content, err := os.ReadFile(filepath.Join(out, "report.json"))
			must(t, err)
			var rep report.Report
			must(t, json.Unmarshal(content, &rep))
			if len(rep.Promises) == 0 || len(rep.Paces) != 1 || len(rep.Paces[0].Marks) == 0 || len(rep.Paces[0].Samples) == 0 || rep.Orders.Total == 0 {
				t.Errorf("promises %+v, paces %+v, orders %+v", rep.Promises, rep.Paces, rep.Orders)
			}
			for _, s := range rep.Paces[0].Samples {
				if s.Told && (s.Target <= 0 || s.LimitedBy == "" || s.Consumers < 1) {
					t.Errorf("half told: %+v", s)
				}
			}
		})
	}
}
