package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sluice/shared/devstack"
)

// At its full size slow clients outnumber the gateway's places; what honest ones
// notice is promised, and judged with threefold slack by the command itself.
func TestSlow_HonestClientsAreServed(t *testing.T) {
	t.Parallel()
	args := []string{"-quick"}
	if devstack.Long() {
		args = nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	out := t.TempDir()
	var stdout, stderr bytes.Buffer
	err := slowCommand(ctx, append(args, "-out", out, "-bin", programs(t)), func(string) string { return "" }, &stdout, &stderr)
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, &stdout, &stderr)
	}
	t.Logf("%s", &stdout)
	content, err := os.ReadFile(filepath.Join(out, "report.json"))
	must(t, err)
	var rep struct {
		Config struct{ Rounds []map[string]float64 }
	}
	must(t, json.Unmarshal(content, &rep))
	for i, f := range rep.Config.Rounds {
		if f["many_addresses_slow_408"] == 0 || f["one_address_slow_429"] == 0 || f["many_addresses_slow_429"] != 0 || f["quiet_served"] == 0 {
			t.Errorf("round %d: %v", i+1, f)
		}
	}
}
