package stack

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"sluice/shared/devstack"
)

func TestRestart_StoreComesBackWithWhatWasPutThere(t *testing.T) {
	t.Parallel()
	ctx := within(t)
	stack := start(ctx, t, fakeConfig(t, "sales: []", ""))
	options, err := redis.ParseURL(stack.Info().Redis.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	set := func(value string) {
		t.Helper()
		if err := client.Set(ctx, "key", value, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	holds := func(want string) {
		t.Helper()
		got, err := client.Get(ctx, "key").Result()
		if errors.Is(err, redis.Nil) {
			got, err = "", nil
		}
		if err != nil || got != want {
			t.Errorf("key is %q, %v; want %q", got, err, want)
		}
	}
	older := filepath.Join(t.TempDir(), "older")
	restart := func(between func(*devstack.Server) error) {
		t.Helper()
		before := stack.Info().Redis
		if err := stack.Restart(ctx, "redis", (*devstack.Server).Stop, between); err != nil {
			t.Fatal(err)
		}
		if after := stack.Info().Redis; after.URL != before.URL || after.PID == before.PID {
			t.Errorf("redis is %+v, was %+v", after, before)
		}
	}
	set("old")
	restart(func(s *devstack.Server) error { return s.CopyData(older) })
	holds("old")
	set("new")
	restart(func(s *devstack.Server) error { return s.PutData(older) })
	holds("old")
	restart((*devstack.Server).WipeData)
	holds("")
	if err := stack.Kill(ctx, "redis", 0); err != nil { // still supervised
		t.Error(err)
	}
	if err := stack.Restart(ctx, "gateway", (*devstack.Server).Stop, (*devstack.Server).WipeData); err == nil {
		t.Error("a gateway was repaired")
	}
}

func TestProxied_ProcessesReachTheStoreThroughTheProxy(t *testing.T) {
	t.Parallel()
	ctx := within(t)
	config := fakeConfig(t, "sales: []", "")
	config.Proxied = []string{"nats", "postgres"}
	stack := start(ctx, t, config)
	worker := environment(ctx, t, stack.Info().Workers[0].AdminURL)
	for _, store := range []string{"nats", "postgres"} {
		if !strings.Contains(worker, stack.Proxy(store).Addr()) {
			t.Errorf("the worker is not told of the proxy of %s", store)
		}
	}
	if stack.Proxy("redis") != nil || !strings.Contains(worker, stack.Info().Redis.URL) {
		t.Error("redis has a proxy that nobody asked for")
	}
}
