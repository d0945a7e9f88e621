package devstack

import (
	"context"
	"errors"
	"fmt"
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
	redis, nats, postgres sharedServer
}

// sharedServer starts on first use; the result, good or bad, stays.
type sharedServer struct {
	once   sync.Once
	server *Server
	err    error
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

func (s *sharedServer) forTest(t testing.TB, start func(context.Context, Options) (*Server, error)) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real server, and -short is set")
	}
	if !shared.running() {
		t.Fatal("TestMain must run the tests by devstack.Main, or the servers would be left behind")
	}
	// Not the test's context: the server serves the tests after this one too.
	s.once.Do(func() { s.server, s.err = start(context.WithoutCancel(t.Context()), Options{}) })
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
	var errs []error
	for _, one := range []*sharedServer{&s.redis, &s.nats, &s.postgres} {
		if one.server != nil {
			errs = append(errs, one.server.Close())
		}
	}
	return errors.Join(errs...)
}
