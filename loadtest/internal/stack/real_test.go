package stack

import (
	"os"
	"path/filepath"
	"testing"
)

// The other tests use stand-ins; this one the real programs.
func TestRealPrograms_StartComeBackAndStop(t *testing.T) {
	t.Parallel()
	bin := os.Getenv("SLUICE_BIN")
	if testing.Short() {
		t.Skip("starts a whole stack")
	}
	if bin == "" {
		t.Fatal("SLUICE_BIN is not set: run 'make test', or 'make build-race' and set it to bin/race")
	}
	ctx := within(t)
	stack := start(ctx, t, Config{
		Gateways: 2, Workers: 2, BinDir: bin, OutDir: t.TempDir(),
		SalesFile: filepath.Join("..", "..", "..", "docs", "sales.yaml"),
	})
	for _, role := range []string{"gateway", "worker", "nats", "postgres", "redis"} {
		if err := stack.Kill(ctx, role, 0); err != nil {
			t.Error(err)
		}
	}
	// Close, in the clean-up, fails if one of them raced or panicked.
}
