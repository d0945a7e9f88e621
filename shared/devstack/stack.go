package devstack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
)

// Options of a server or stack. The zero value works in a checkout after setup.
type Options struct {
	Dir    string       // parent of the servers' directories; "" makes one in the temp dir
	BinDir string       // where nats-server is; "" is bin/ beside the go.work above the working directory
	Log    *slog.Logger // nil discards

	// NATSSync is the sync_interval of nats-server; "" is always. Anything else loses
	// what it acknowledged when the power goes, which is what a control run shows.
	NATSSync string

	// NATSStore is the directory of JetStream's data, which must exist, such as one on a
	// disk that is full or loses its power; "" is one beside the configuration.
	NATSStore string

	// For tests of what depends on settings. Redis arguments and Postgres settings
	// (name=value) come after the usual ones, and win.
	RedisArgs        []string
	RedisReplicas    int // of each master of a Redis cluster; 0 is one
	PostgresSettings []string
	NATSMonitor      string // host:port of nats-server's monitoring; "" is none
}

// Stack is one server of each kind.
type Stack struct {
	Redis, NATS, Postgres *Server
	dir                   string
	temp                  *tempDir // of dir; nil when the caller chose it
}

// Start starts all three at once. On an error nothing is left behind.
func Start(ctx context.Context, o Options) (*Stack, error) {
	stack := &Stack{dir: o.Dir}
	if o.Dir == "" {
		temp, err := newTempDir()
		if err != nil {
			return nil, err
		}
		stack.temp, stack.dir, o.Dir = temp, temp.path, temp.path
	}
	var wait sync.WaitGroup
	var redisErr, natsErr, postgresErr error
	wait.Go(func() { stack.Redis, redisErr = StartRedis(ctx, o) })
	wait.Go(func() { stack.NATS, natsErr = StartNATS(ctx, o) })
	wait.Go(func() { stack.Postgres, postgresErr = StartPostgres(ctx, o) })
	wait.Wait()
	if err := errors.Join(redisErr, natsErr, postgresErr); err != nil {
		return nil, errors.Join(err, stack.Close())
	}
	return stack, nil
}

// Dir returns the directory that holds the servers' directories.
func (s *Stack) Dir() string { return s.dir }

// Close stops all servers and removes their directories.
func (s *Stack) Close() error {
	errs := make([]error, 3)
	var wait sync.WaitGroup
	for i, server := range []*Server{s.Redis, s.NATS, s.Postgres} {
		if server != nil {
			wait.Go(func() { errs[i] = server.Close() })
		}
	}
	wait.Wait()
	if s.temp != nil {
		errs = append(errs, s.temp.remove())
	}
	return errors.Join(errs...)
}

// newServer reserves a port and makes the server's directory.
func newServer(o Options, name string) (*Server, error) {
	port, err := ReservePort()
	if err != nil {
		return nil, err
	}
	s := &Server{port: port, log: o.Log}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if err := s.makeDir(o.Dir, name); err != nil {
		return nil, errors.Join(err, s.discard())
	}
	return s, nil
}

func (s *Server) makeDir(parent, name string) (err error) {
	if parent == "" {
		if s.temp, err = newTempDir(); err != nil {
			return err
		}
		parent = s.temp.path
	}
	if parent, err = filepath.Abs(parent); err != nil {
		return fmt.Errorf("cannot make a directory for %s: %w", name, err)
	}
	dir := filepath.Join(parent, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("cannot make a directory for %s: %w", name, err)
	}
	s.dir = dir
	return nil
}

// launch starts the server for the first time; what fails leaves nothing behind.
func (s *Server) launch(ctx context.Context, p program) (*Server, error) {
	s.program = p
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.discard())
	}
	return s, nil
}
