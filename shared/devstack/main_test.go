package devstack

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"
)

// helperDir makes the test binary a process that starts everything there and waits to
// be killed.
const helperDir = "DEVSTACK_HELPER_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperDir); dir != "" {
		if err := holdStack(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(Main(m))
}

// held is what the helper process prints about its servers.
type held struct {
	PIDs  []int
	Addrs []string
}

func holdStack(dir string) error {
	ctx, o := context.Background(), Options{Dir: dir}
	stack, err := Start(ctx, o)
	if err != nil {
		return err
	}
	cluster, err := StartNATSCluster(ctx, o)
	if err != nil {
		return err
	}
	pair, err := StartPostgresPair(ctx, o)
	if err != nil {
		return err
	}
	var h held
	for _, server := range append(cluster.Servers(), stack.Redis, stack.NATS, stack.Postgres, pair.Primary(), pair.Standby()) {
		h.PIDs = append(h.PIDs, server.PID())
		h.Addrs = append(h.Addrs, server.port.Addr())
	}
	if err := json.NewEncoder(os.Stdout).Encode(h); err != nil {
		return err
	}
	time.Sleep(10 * time.Minute)
	return nil
}

// eventually polls until ok, for at most a generous 20 s.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within 20s: %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
