package stack

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// within bounds a test that waits for processes; generous, for a busy machine.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func start(ctx context.Context, t *testing.T, config Config) *Stack {
	t.Helper()
	stack, err := Start(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stack.Close(); err != nil {
			t.Error(err)
		}
	})
	return stack
}

func TestStart_AnnouncesWhereEverythingIs(t *testing.T) {
	t.Parallel()
	config := fakeConfig(t, "sales: []", "")
	stack := start(within(t), t, config)

	path := filepath.Join(config.OutDir, InfoFile)
	info, err := ReadInfo(path)
	if err != nil || !reflect.DeepEqual(info, stack.Info()) {
		t.Fatalf("announced %+v, want %+v: %v", info, stack.Info(), err)
	}
	for _, address := range []string{info.Redis.URL, info.NATS.URL, info.Postgres.URL, info.Gateways[1].OpsURL, info.Workers[0].AdminURL} {
		if !answers(t, address) {
			t.Errorf("nothing answers at %s", address)
		}
	}
	if file, err := os.Stat(path); err != nil || file.Mode().Perm() != 0o600 {
		t.Errorf("the secrets are readable by others: %v, %v", file.Mode(), err)
	}
	if keys := keysOf(t, path); keys != "dir gateways nats postgres redis secrets workers" {
		t.Errorf("announcement has the keys %s", keys)
	}
}

func keysOf(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(content, &object); err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, key := range []string{"dir", "gateways", "nats", "postgres", "redis", "secrets", "workers"} {
		if _, ok := object[key]; ok {
			keys = append(keys, key)
		}
		delete(object, key)
	}
	for key := range object {
		keys = append(keys, "unexpected "+key)
	}
	return strings.Join(keys, " ")
}

func answers(t *testing.T, address string) bool {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

func TestKill_EverythingComesBackUnderItsURL(t *testing.T) {
	t.Parallel()
	config := fakeConfig(t, "sales: []", "")
	ctx := within(t)
	stack := start(ctx, t, config)
	before := stack.Info()
	for _, role := range []string{"gateway", "worker", "redis", "nats", "postgres"} {
		if err := stack.Kill(ctx, role, 0); err != nil {
			t.Fatal(err)
		}
	}
	after := stack.Info()
	if after.Gateways[1] != before.Gateways[1] {
		t.Errorf("a gateway that was not killed changed from %+v to %+v", before.Gateways[1], after.Gateways[1])
	}
	for name, pids := range map[string][2]*int{
		"gateway":  {&before.Gateways[0].PID, &after.Gateways[0].PID},
		"worker":   {&before.Workers[0].PID, &after.Workers[0].PID},
		"redis":    {&before.Redis.PID, &after.Redis.PID},
		"nats":     {&before.NATS.PID, &after.NATS.PID},
		"postgres": {&before.Postgres.PID, &after.Postgres.PID},
	} {
		if *pids[0] == *pids[1] {
			t.Errorf("%s has its old pid %d", name, *pids[0])
		}
		*pids[0] = *pids[1]
	}
	if !reflect.DeepEqual(before, after) {
		t.Errorf("more than pids changed: %+v, %+v", before, after)
	}
	err := poll(ctx, func() error {
		if info, err := ReadInfo(filepath.Join(config.OutDir, InfoFile)); err != nil || !reflect.DeepEqual(info, after) {
			return errors.New("the announcement is not of the new pids")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := stack.Kill(ctx, "gateway", 7); err == nil {
		t.Error("a gateway that does not exist was killed")
	}
}

func TestFirstEnv_IsForTheFirstRunAlone(t *testing.T) {
	t.Parallel()
	config := fakeConfig(t, "sales: []", "")
	config.FirstEnv = map[string][]string{"gateway-1": {"SLUICE_FAILPOINTS=after_reserve=kill"}}
	ctx := within(t)
	stack := start(ctx, t, config)
	has := func(index int, variable string) bool {
		t.Helper()
		return strings.Contains(environment(ctx, t, stack.Info().Gateways[index].OpsURL), variable)
	}
	if has(0, "SLUICE_FAILPOINTS") || !has(1, "SLUICE_FAILPOINTS=after_reserve=kill") {
		t.Error("the failpoint is not in the environment of gateway 1 alone")
	}
	if has(0, "SLUICE_POSTGRES_URL") {
		t.Error("a gateway is told where Postgres is")
	}
	if err := stack.Kill(ctx, "gateway", 1); err != nil {
		t.Fatal(err)
	}
	if has(1, "SLUICE_FAILPOINTS") {
		t.Error("the failpoint is in the successor's environment too")
	}
}

func environment(ctx context.Context, t *testing.T, opsURL string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, opsURL+"/environment", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestClose_RemovesAllButLogsAndReportsPanics(t *testing.T) {
	t.Parallel()
	config := fakeConfig(t, "sales: []", "")
	config.FirstEnv = map[string][]string{"worker-0": {"SLUICE_FAILPOINTS=panic"}}
	stack, err := Start(within(t), config)
	if err != nil {
		t.Fatal(err)
	}
	info := stack.Info()
	if err := stack.Close(); err == nil || !strings.Contains(err.Error(), `worker-0.log has "panic: as told"`) {
		t.Errorf("the panic is not reported: %v", err)
	}
	for _, path := range []string{info.Dir, filepath.Join(config.OutDir, InfoFile)} {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
	for _, address := range []string{info.Redis.URL, info.NATS.URL, info.Postgres.URL, info.Gateways[0].OpsURL} {
		if answers(t, address) {
			t.Errorf("%s still answers", address)
		}
	}
}
