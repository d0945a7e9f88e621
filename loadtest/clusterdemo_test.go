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
	"sluice/shared/devstack"
)

func TestClusterDemo_SellsOnWhileAServerOfEachStoreDies(t *testing.T) {
	t.Parallel()
	if !devstack.Long() {
		t.Skip("takes minutes: make long runs it")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	out := t.TempDir()
	var printed bytes.Buffer
	if err := run(ctx, []string{"cluster-demo", "-out", out, "-bin", programs(t)}, func(string) string { return "" }, &printed, &printed); err != nil {
		t.Fatalf("%v\n%s", err, printed.String())
	}
	var rep report.Report
	content, err := os.ReadFile(filepath.Join(out, "report.json"))
	must(t, err)
	must(t, json.Unmarshal(content, &rep))
	if rep.Orders.Total == 0 || len(rep.Faults) != 1 || rep.Faults[0].Hits < 3 || len(rep.Faults[0].Pauses) != 3 {
		t.Fatalf("the report has %d orders and the rounds %+v", rep.Orders.Total, rep.Faults)
	}
	for _, p := range rep.Faults[0].Pauses {
		if p.AcceptsS <= 0 || p.OrdersS <= 0 {
			t.Errorf("no pause: %+v", p)
		}
	}
}
