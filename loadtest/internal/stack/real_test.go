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
	if bin == "" || testing.Short() {
		t.Skip("needs the programs of SLUICE_BIN, which 'make test' builds and sets")
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
