package stack

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sluice/shared/devstack"
)

// Most processes of one kind: a stack is for one machine.
const maxProcesses = 16

// Config of a stack.
type Config struct {
	Gateways, Workers int
	SalesFile         string // given to warmup apply
	OutDir            string // gets stack.json and logs/; made if missing
	BinDir            string // has gateway, worker, warmup and nats-server
	Log               *slog.Logger
	Drain             time.Duration // how long gateways serve on after SIGTERM; default 200 ms

	// LocalShop has the gateways' page sign anybody in, and pay without money.
	LocalShop bool

	// FirstEnv is extra environment, such as a failpoint, of a process named
	// "gateway-0" or "worker-1", for its first run only: its successors are without.
	FirstEnv map[string][]string

	// Stores are how the stores are set. What the stack decides itself, BinDir, Log and
	// NATSMonitor, is not asked of it.
	Stores devstack.Options

	// Cluster has the stores be as level ha wants them: a Redis Cluster of three masters
	// with a replica each, three nats-servers and streams of three replicas, and a Postgres
	// primary with a synchronous standby that takes its place when it is gone.
	Cluster bool

	// RedisReplica has Redis followed by a replica, through the proxy RedisReplica.
	RedisReplica bool

	// GatewaySettings are extra environment of all gateways, in every run.
	GatewaySettings []string

	// WorkerSettings are extra environment of the workers that Start starts, in every
	// run until SetWorker.
	WorkerSettings []string

	// Proxied are stores, "redis", "nats" or "postgres", that gateways and workers
	// reach through a proxy, which Stack.Proxy returns. Info has the stores' own URLs.
	Proxied []string

	// Apart are stores that gateways alone reach through a proxy, which Stack.Apart
	// returns: so they can be cut off from what workers still reach.
	Apart []string
}

// check finds what can be known before anything is started.
func (c Config) check() error {
	if c.Gateways < 1 || c.Gateways > maxProcesses {
		return fmt.Errorf("cannot run %d gateways: -gateways must be 1 to %d", c.Gateways, maxProcesses)
	}
	if c.Workers < 1 || c.Workers > maxProcesses {
		return fmt.Errorf("cannot run %d workers: -workers must be 1 to %d", c.Workers, maxProcesses)
	}
	if c.Cluster && (c.RedisReplica || len(c.Proxied)+len(c.Apart) > 0 || c.Stores.NATSStore != "") {
		return fmt.Errorf("cannot run clustered stores behind proxies, with a replica of one Redis, or on a disk of their own")
	}
	if c.SalesFile == "" {
		return fmt.Errorf("-sales is missing: name the file with the sales to open")
	}
	if info, err := os.Stat(c.SalesFile); err != nil {
		return fmt.Errorf("cannot read the sales file of -sales: %w", err)
	} else if info.IsDir() {
		return fmt.Errorf("cannot read the sales file of -sales: %s is a directory", c.SalesFile)
	}
	return CheckPrograms(c.BinDir)
}

// CheckPrograms refuses a directory that lacks what a stack runs.
func CheckPrograms(binDir string) error {
	at, err := filepath.Abs(binDir)
	if err != nil {
		return fmt.Errorf("cannot find the directory of -bin: %w", err)
	}
	for _, program := range []string{"gateway", "worker", "warmup", "nats-server"} {
		if _, err := os.Stat(filepath.Join(at, program)); err != nil {
			return fmt.Errorf("%s is not in %s: run 'make setup build', or name another -bin", program, at)
		}
	}
	return nil
}

// childEnv is this process's environment without what would configure Sluice: a
// stack must not depend on the shell it was started from.
func childEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "SLUICE_")
	})
}
