package stack

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sluice/shared/devstack"
)

// primaryGone is for how long the Postgres primary must not answer to be replaced.
const primaryGone = 5 * time.Second

// engines are the stores of a stack: one server of each, or several.
type engines struct {
	one *devstack.Stack // nil with ha
	ha  *devstack.HA
}

func (s *Stack) startStores(ctx context.Context) (err error) {
	options := s.config.Stores
	options.BinDir, options.Log = s.config.BinDir, s.log
	if s.config.Cluster {
		s.stores.ha, err = devstack.StartHA(ctx, options)
		return err
	}
	if s.monitor, err = devstack.ReservePort(); err != nil {
		return err
	}
	options.NATSMonitor = s.monitor.Addr()
	s.stores.one, err = devstack.Start(ctx, options)
	return err
}

// servers are those that are started again by themselves when they die, by name. A pair of
// Postgres is not among them: it has a supervisor of its own.
func (e engines) servers() map[string]*devstack.Server {
	if e.ha == nil {
		return map[string]*devstack.Server{"redis": e.one.Redis, "nats": e.one.NATS, "postgres": e.one.Postgres}
	}
	all := make(map[string]*devstack.Server)
	for _, s := range slices.Concat(e.ha.Redis.Servers(), e.ha.NATS.Servers()) {
		all[nameOf(s)] = s
	}
	return all
}

// nameOf is what a server is called, as its directory is.
func nameOf(s *devstack.Server) string { return filepath.Base(s.Dir()) }

func (e engines) dir() string {
	if e.ha == nil {
		return e.one.Dir()
	}
	return e.ha.Dir()
}

// infos say where the stores are now.
func (e engines) infos() (redis, nats, postgres StoreInfo) {
	if e.ha == nil {
		return infoOf(e.one.Redis.URL(), e.one.Redis), infoOf(e.one.NATS.URL(), e.one.NATS), infoOf(e.one.Postgres.URL(), e.one.Postgres)
	}
	pair := e.ha.Postgres
	return infoOf(e.ha.Redis.URL(), e.ha.Redis.Servers()...), infoOf(e.ha.NATS.URL(), e.ha.NATS.Servers()...), infoOf(pair.URL(), pair.Primary(), pair.Standby())
}

func infoOf(url string, servers ...*devstack.Server) StoreInfo {
	info := StoreInfo{URL: url, PID: servers[0].PID()}
	for _, s := range servers[1:] {
		info.Others = append(info.Others, s.PID())
	}
	return info
}

func (e engines) close() error {
	switch {
	case e.one != nil:
		return e.one.Close()
	case e.ha != nil:
		return e.ha.Close()
	}
	return nil
}

// Cluster returns the stores of a stack with Config.Cluster, else nil.
func (s *Stack) Cluster() *devstack.HA { return s.stores.ha }

// natsMonitors are the URLs of the monitoring of all nats-servers, separated by commas.
func (s *Stack) natsMonitors() string {
	if s.stores.ha == nil {
		return "http://" + s.monitor.Addr()
	}
	return strings.Join(s.stores.ha.NATS.Monitors(), ",")
}

// HoldDown ends one server of a clustered store with SIGKILL and keeps it down until start
// is called, which must be, once, and returns when it answers again. The rest of the stack
// runs on. A Postgres pair has who replaces its servers: they are killed by themselves.
func (s *Stack) HoldDown(server *devstack.Server) (start func(context.Context) error, err error) {
	name := nameOf(server)
	if s.repairs[name] == nil {
		return nil, fmt.Errorf("cannot hold %s down: the stack does not start it again", name)
	}
	done := s.repair(name)
	if err := server.Kill(); err != nil {
		done()
		return nil, err
	}
	return func(ctx context.Context) error {
		defer done()
		return errors.Join(server.Restart(ctx), s.announce())
	}, nil
}

// AwaitHA returns once warmup doctor finds that the stores earn level ha, or when ctx ends,
// at most in 90 s: every replica and standby is there and in step.
func (s *Stack) AwaitHA(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return poll(ctx, func() error { return s.warmup(ctx, "doctor", "-require", "ha", "-nats-monitor", s.natsMonitors()) })
}

// superviseStores has the Postgres of a clustered stack fail over when its primary is gone.
func (s *Stack) superviseStores(ctx context.Context) {
	if s.stores.ha == nil {
		return
	}
	s.wait.Go(func() {
		s.stores.ha.Postgres.Supervise(ctx, primaryGone, s.log, func(time.Duration) {
			if err := s.announce(); err != nil {
				s.log.ErrorContext(ctx, "stack cannot be announced", "error", err)
			}
		})
	})
}
