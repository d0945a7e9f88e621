package stack

import (
	"context"
	"fmt"
	"net/http"
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
		t.Fatal("SLUICE_BIN is not set: run 'make test', or 'make build' and set it to bin")
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
	expectMerchant(ctx, t, stack.Info())
	// Close, in the clean-up, fails if one of them raced or panicked.
}

// expectMerchant shows the announced key to a worker.
func expectMerchant(ctx context.Context, t *testing.T, info Info) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, info.Workers[0].URL+"/v1/merchant", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+info.Secrets.MerchantKey)
	if err := poll(ctx, func() error { // postgres has only just come back
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("the merchant's key is answered %d", response.StatusCode)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}
