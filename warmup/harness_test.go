package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"sluice/shared/devstack"
	"sluice/shared/failpoint"
	"sluice/shared/jetqueue"
	"sluice/shared/pgstore"
	"sluice/shared/redisstock"
	"sluice/shared/sale"
	"sluice/shared/service"
)

// childVariable makes the test binary the command itself.
const childVariable = "WARMUP_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		service.Main("warmup", run)
	}
	os.Exit(devstack.Main(m))
}

var names atomic.Int64

// newName makes a name that no other test of any process uses.
func newName() string { return fmt.Sprintf("w%d-%d", os.Getpid(), names.Add(1)) }

// bench is what a test runs commands against: a Postgres schema of its own, and
// the shared Redis and NATS, apart by sale ids.
type bench struct {
	t        *testing.T
	vars     map[string]string
	postgres *pgstore.Store
	redis    *redisstock.Client
	raw      *redis.Client
	queue    *jetqueue.Queue
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return newBenchOn(t, devstack.NATSForTest(t).URL())
}

func newBenchOn(t *testing.T, natsURL string) *bench {
	t.Helper()
	b := &bench{t: t, vars: map[string]string{
		"SLUICE_POSTGRES_URL": newSchema(t), "SLUICE_REDIS_URL": devstack.RedisForTest(t).URL(), "SLUICE_NATS_URL": natsURL,
	}}
	var err error
	b.postgres, err = pgstore.Open(t.Context(), pgstore.Config{URL: b.vars["SLUICE_POSTGRES_URL"]})
	b.must(err)
	t.Cleanup(b.postgres.Close)
	b.redis, err = redisstock.Open(redisstock.Config{URL: b.vars["SLUICE_REDIS_URL"], Timeout: 5 * time.Second})
	b.must(err)
	options, err := redis.ParseURL(b.vars["SLUICE_REDIS_URL"])
	b.must(err)
	b.raw = redis.NewClient(options)
	b.queue, err = jetqueue.Connect(t.Context(), jetqueue.Config{URL: b.vars["SLUICE_NATS_URL"], Name: "test", Log: slog.New(slog.DiscardHandler)})
	b.must(err)
	t.Cleanup(func() {
		b.queue.Close()
		if err := errors.Join(b.redis.Close(), b.raw.Close()); err != nil {
			t.Error(err)
		}
	})
	b.run("migrate")
	return b
}

// newSchema returns the URL of an empty schema.
func newSchema(t *testing.T) string {
	t.Helper()
	server := devstack.PostgresForTest(t).URL()
	schema := strings.ReplaceAll(newName(), "-", "_")
	execute(t, server, "CREATE SCHEMA "+schema)
	t.Cleanup(func() { execute(t, server, "DROP SCHEMA "+schema+" CASCADE") })
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set("search_path", schema)
	u.RawQuery = query.Encode()
	return u.String()
}

func execute(t *testing.T, url, sql string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, sql); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// try runs a command and returns what it printed.
func (b *bench) try(args ...string) (string, error) {
	var stdout bytes.Buffer
	err := run(b.t.Context(), args, func(name string) string { return b.vars[name] }, &stdout, os.Stderr)
	return stdout.String(), err
}

// run runs a command that must succeed.
func (b *bench) run(args ...string) string {
	b.t.Helper()
	out, err := b.try(args...)
	if err != nil {
		b.t.Fatalf("warmup %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// refuse runs a command that must fail with an error that has part.
func (b *bench) refuse(part string, args ...string) string {
	b.t.Helper()
	out, err := b.try(args...)
	if err == nil || !strings.Contains(err.Error(), part) {
		b.t.Fatalf("warmup %s: error %v, want %q\n%s", strings.Join(args, " "), err, part, out)
	}
	return out
}

// runKilled runs the command in a process that the named failpoint must kill.
func (b *bench) runKilled(point string, args ...string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0], args...)
	child.Env = append(os.Environ(), childVariable+"=1", failpoint.Variable+"="+point+"=kill")
	for name, value := range b.vars {
		child.Env = append(child.Env, name+"="+value)
	}
	out, err := child.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		b.t.Fatalf("at %s the process ended with %v, want SIGKILL\n%s", point, err, out)
	}
}

// saleText is one sale of a sales file.
func saleText(id, opensAt, rest string) string {
	return fmt.Sprintf("  - {id: %s, title: Phone, sku: P-1, total: 10, price: 100, currency: CNY, opens_at: %s, closes_at: 2099-01-01T00:00:00Z%s}\n", id, opensAt, rest)
}

const (
	alreadyOpen = "2020-01-01T00:00:00Z"
	opensLater  = "2098-01-01T00:00:00Z"
)

// file writes a sales file of the given sales.
func (b *bench) file(sales ...string) string {
	b.t.Helper()
	dir := b.t.TempDir()
	path := filepath.Join(dir, "sales.yaml")
	b.must(os.WriteFile(path, []byte("sales:\n"+strings.Join(sales, "")), 0o600))
	b.must(os.WriteFile(filepath.Join(dir, "ids.txt"), []byte("ann\nbob\n"), 0o600))
	return path
}

func (b *bench) entry(id string) sale.Entry {
	b.t.Helper()
	e, err := b.postgres.Entry(b.t.Context(), id)
	b.must(err)
	return e
}

// announced returns the sale as the catalogue has it.
func (b *bench) announced(id string) (sale.Entry, bool) {
	b.t.Helper()
	entries, err := b.queue.Entries(b.t.Context())
	b.must(err)
	for _, e := range entries {
		if e.ID == id {
			return e, true
		}
	}
	return sale.Entry{}, false
}

// loseRedis removes everything that Redis knows of a sale.
func (b *bench) loseRedis(id string) {
	b.t.Helper()
	keys, err := b.raw.Keys(b.t.Context(), "sluice:{"+id+"}:*").Result()
	b.must(err)
	if len(keys) == 0 {
		b.t.Fatalf("redis has nothing of sale %s to lose", id)
	}
	b.must(b.raw.Del(b.t.Context(), keys...).Err())
}
