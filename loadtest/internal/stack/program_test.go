package stack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSetProgram_RunsAnotherUntilItIsSetBack(t *testing.T) {
	t.Parallel()
	ctx := within(t)
	config := fakeConfig(t, "sales: []", "")
	other := t.TempDir()
	script, err := os.ReadFile(filepath.Join(config.BinDir, "gateway"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, "gateway"), []byte(strings.Replace(string(script), "exec", "OTHER=1 exec", 1)), 0o755); err != nil {
		t.Fatal(err)
	}
	stack := start(ctx, t, config)
	is := func(gateway int, want bool) {
		t.Helper()
		if got := strings.Contains(environment(ctx, t, stack.Info().Gateways[gateway].OpsURL), "OTHER=1"); got != want {
			t.Errorf("gateway %d runs the other program: %t", gateway, got)
		}
	}
	before := stack.Info().Gateways
	for range 2 { // the second time it does so already
		if err := stack.SetProgram(ctx, "gateway", 1, other); err != nil {
			t.Fatal(err)
		}
	}
	is(0, false)
	is(1, true)
	if err := stack.Kill(ctx, "gateway", 1); err != nil {
		t.Fatal(err)
	}
	is(1, true)
	if err := stack.SetProgram(ctx, "gateway", 1, ""); err != nil {
		t.Fatal(err)
	}
	is(1, false)
	if err := stack.SetProgram(ctx, "gateway", 0, ""); err != nil {
		t.Fatal(err)
	}
	after := stack.Info().Gateways
	if after[0] != before[0] || after[1].URL != before[1].URL || after[1].PID == before[1].PID {
		t.Errorf("gateways are %+v, were %+v", after, before)
	}
	if err := stack.SetProgram(ctx, "gateway", 2, other); err == nil {
		t.Error("a gateway that is not there was set")
	}
}
