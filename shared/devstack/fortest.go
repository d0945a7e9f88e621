package devstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
)

// shared holds the servers that the tests of this process share. It is the
// package's one variable: tests have no other place that outlives each of them.
var shared sharedServers

type sharedServers struct {
	mu                    sync.Mutex
	mainRuns              bool
	redis, nats, postgres sharedServer[*Server]
	cluster               sharedServer[*RedisCluster]
}

// sharedServer starts on first use; the result, good or bad, stays.
type sharedServer[S io.Closer] struct {
	once    sync.Once
	started bool
	server  S
	err     error
}

// Main is for TestMain: os.Exit(devstack.Main(m)). It runs the tests, then stops
// what they started, and returns the exit code.
func Main(m *testing.M) int {
	shared.mu.Lock()
	shared.mainRuns = true
	shared.mu.Unlock()
	code := m.Run()
	if err := shared.close(); err != nil {
		fmt.Fprintln(os.Stderr, "cannot stop the test servers:", err)
		return max(code, 1)
	}
	return code
}

// RedisForTest returns the Redis that this process's tests share: isolate by sale
// id, never flush it, never stop it. Skips with -short.
func RedisForTest(t testing.TB) *Server {
	t.Helper()
	return shared.redis.forTest(t, StartRedis)
}

// RedisClusterForTest returns the Redis Cluster that this process's tests share: isolate by
// sale id, never stop a server of it. Skips with -short.
func RedisClusterForTest(t testing.TB) *RedisCluster {
	t.Helper()
	return shared.cluster.forTest(t, StartRedisCluster)
}

// NATSForTest returns the NATS that this process's tests share: isolate by stream or
// subject. Skips with -short.
func NATSForTest(t testing.TB) *Server {
	t.Helper()
	return shared.nats.forTest(t, StartNATS)
}

// PostgresForTest returns the Postgres that this process's tests share: isolate by
// schema or database. Skips with -short.
func PostgresForTest(t testing.TB) *Server {
	t.Helper()
	return shared.postgres.forTest(t, StartPostgres)
}

func (s *sharedServer[S]) forTest(t testing.TB, start func(context.Context, Options) (S, error)) S {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real server, and -short is set")
	}
	if !shared.running() {
		t.Fatal("TestMain must run the tests by devstack.Main, or the servers would be left behind")
	}
	// Not the test's context: the server serves the tests after this one too.
	s.once.Do(func() {
		s.server, s.err = start(context.WithoutCancel(t.Context()), Options{})
		s.started = s.err == nil
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.server
}

func (s *sharedServers) running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mainRuns
}

func (s *sharedServers) close() error {
	return errors.Join(s.redis.close(), s.cluster.close(), s.nats.close(), s.postgres.close())
}

func (s *sharedServer[S]) close() error {
	if !s.started {
		return nil
	}
	return s.server.Close()
}
