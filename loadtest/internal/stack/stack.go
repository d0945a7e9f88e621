package stack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"sluice/shared/devstack"
)

// How long things may take. The graces add up, with the stores', to less than 20 s.
const (
	readyTimeout = 90 * time.Second // generous: programs with the race detector on a busy machine
	probeTimeout = 2 * time.Second
	probeEvery   = 25 * time.Millisecond
	gatewayGrace = 6 * time.Second
	workerGrace  = 4 * time.Second
	drain        = 200 * time.Millisecond // nothing that routes requests here has to notice first
)

// Stack is a running Sluice.
type Stack struct {
	config    Config
	log       *slog.Logger
	lock      *os.File // on OutDir: one stack there at a time
	stores    engines
	replica   *devstack.Server // of Redis, if there is to be one
	monitor   *devstack.Port   // of nats-server, which says only there what doctor asks
	secrets   Secrets
	ticketKey string // of the gateways
	gateways  []*child
	workers   []*child
	growing   sync.RWMutex                // of the lists: gateways and workers may be added
	proxies   proxies                     // of the stores in Config.Proxied
	apart     proxies                     // of those in Config.Apart
	repairs   map[string]*sync.Mutex      // held while a process is down for Restart, SetWorker, StopWorkers or Arm
	stop      context.CancelFunc          // ends supervision
	watch     func(name string, m member) // starts supervision of one more
	wait      sync.WaitGroup              // for supervision
	mu        sync.Mutex                  // of the announcement
	announced bool
}

// Start runs a stack and returns once every sale is loaded, every process ready, and
// stack.json written. ctx bounds the start only. On an error nothing is left running.
func Start(ctx context.Context, config Config) (*Stack, error) {
	s := &Stack{config: config, log: config.Log, secrets: newSecrets(), ticketKey: newSecret(), stop: func() {},
		repairs: make(map[string]*sync.Mutex)}
	for i := range maxProcesses {
		s.repairs[childName("gateway", i)], s.repairs[childName("worker", i)] = new(sync.Mutex), new(sync.Mutex)
	}
	if s.config.Drain == 0 {
		s.config.Drain = drain
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if err := config.check(); err != nil {
		return nil, err
	}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Stack) start(ctx context.Context) (err error) {
	if s.lock, err = lockOutDir(s.config.OutDir); err != nil {
		return err
	}
	if err := newLogDir(s.logDir()); err != nil {
		return err
	}
	if err := s.startStores(ctx); err != nil {
		return err
	}
	for name := range s.stores.servers() {
		s.repairs[name] = new(sync.Mutex)
	}
	if err := s.startProxies(); err != nil {
		return err
	}
	if err := s.startReplica(ctx); err != nil { // Redis may refuse to write without
		return err
	}
	if err := s.warmup(ctx, s.migration()...); err != nil {
		return err
	}
	// A stack for trying things and for measuring: its sales are as large as one likes.
	if err := s.warmup(ctx, "apply", "-oversubscribe", s.config.SalesFile); err != nil {
		return err
	}
	if s.secrets.MerchantKey, err = s.makeMerchantKey(ctx); err != nil {
		return err
	}
	if err := s.startChildren(ctx); err != nil {
		return err
	}
	if err := s.awaitAll(ctx); err != nil {
		return err
	}
	s.superviseAll(ctx)
	s.mu.Lock()
	s.announced = true
	s.mu.Unlock()
	return s.announce()
}

// superviseAll begins only when all are ready: what dies before is not started
// again but fails the start.
func (s *Stack) superviseAll(ctx context.Context) {
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.watch = func(name string, m member) { s.wait.Go(func() { s.supervise(ctx, name, m) }) }
	for name, m := range s.members() {
		s.watch(name, m)
	}
	s.superviseStores(ctx)
}

// migration is the command that makes the schema and the streams.
func (s *Stack) migration() []string {
	if s.config.Cluster {
		return []string{"migrate", "-stream-replicas", "3"}
	}
	return []string{"migrate"}
}

// Close stops everything, gateways before workers before stores, and removes
// stack.json and the stores' data. The logs stay in OutDir. It reports processes that
// had to be killed, raced or panicked.
func (s *Stack) Close() error {
	s.stop()
	s.wait.Wait()
	errs := []error{s.withdraw(), closeAll(s.allGateways()), closeAll(s.allWorkers())}
	errs = append(errs, s.proxies.close(), s.apart.close())
	if s.replica != nil {
		errs = append(errs, s.replica.Close())
	}
	errs = append(errs, s.stores.close())
	if s.monitor != nil {
		errs = append(errs, s.monitor.Release())
	}
	if s.lock != nil {
		errs = append(errs, checkLogs(s.logDir()), s.lock.Close())
	}
	return errors.Join(errs...)
}

func closeAll(children []*child) error {
	errs := make([]error, len(children))
	var wait sync.WaitGroup
	for i, c := range children {
		wait.Go(func() { errs[i] = c.close() })
	}
	wait.Wait()
	return errors.Join(errs...)
}

// Kill sends SIGKILL to a process and returns when its successor is ready. The role
// is gateway, worker, redis, nats or postgres, or one server of a cluster such as nats-1; stores have index 0.
func (s *Stack) Kill(ctx context.Context, role string, index int) error {
	name := role
	if role == "gateway" || role == "worker" {
		name = childName(role, index)
	}
	m, ok := s.members()[name]
	if !ok {
		return fmt.Errorf("cannot kill %s: the stack has no such process", name)
	}
	pid := m.PID()
	if err := m.Kill(); err != nil {
		return err
	}
	return poll(ctx, func() error {
		if m.PID() == pid {
			return fmt.Errorf("%s was not started again", name)
		}
		if c, ok := m.(*child); ok {
			return c.ready(ctx)
		}
		return nil
	})
}

// Info says where everything is now.
func (s *Stack) Info() Info {
	info := Info{
		Gateways: []GatewayInfo{}, Workers: []WorkerInfo{}, Secrets: s.secrets, Dir: s.stores.dir(),
	}
	info.Redis, info.NATS, info.Postgres = s.stores.infos()
	for _, c := range s.allGateways() {
		info.Gateways = append(info.Gateways, GatewayInfo{URL: c.url(), OpsURL: c.opsURL(), PID: c.PID()})
	}
	for _, c := range s.allWorkers() {
		info.Workers = append(info.Workers, WorkerInfo{URL: c.url(), AdminURL: c.opsURL(), PID: c.PID()})
	}
	return info
}

// members returns all that is supervised, by name.
func (s *Stack) members() map[string]member {
	members := make(map[string]member)
	for name, server := range s.stores.servers() {
		members[name] = server
	}
	for _, children := range [][]*child{s.allGateways(), s.allWorkers()} {
		for _, c := range children {
			members[c.name] = c
		}
	}
	return members
}

func (s *Stack) logDir() string { return filepath.Join(s.config.OutDir, "logs") }
