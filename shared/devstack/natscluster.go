package devstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// natsServers is how many servers a cluster has: one may be lost.
const natsServers = 3

// NATSCluster is three nats-servers in one cluster, each with JetStream, which keeps what
// has three replicas on all of them. Kill and Restart are those of its servers.
type NATSCluster struct {
	nodes []*natsNode
	temp  *tempDir // nil when the caller chose the directory
}

// natsNode is one server, its route to the others and its monitoring.
type natsNode struct {
	*Server
	route, monitor *Port
}

// StartNATSCluster starts the nats-servers of BinDir, all with sync_interval always unless
// NATSSync says otherwise. NATSStore and NATSMonitor are not for it: each server has a
// directory and a monitoring of its own. It returns once JetStream has a leader and every
// server is in step. On an error nothing is left behind.
func StartNATSCluster(ctx context.Context, o Options) (*NATSCluster, error) {
	path, err := natsBinary(o.BinDir)
	if err != nil {
		return nil, err
	}
	c := &NATSCluster{}
	if o.Dir == "" {
		if c.temp, err = newTempDir(); err != nil {
			return nil, err
		}
		o.Dir = c.temp.path
	}
	if err := c.reserve(o); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if err := c.launch(ctx, path, o); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if err := c.AwaitReady(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// reserve has every port known before the first server is told of the others.
func (c *NATSCluster) reserve(o Options) (err error) {
	for i := range natsServers {
		n := &natsNode{}
		c.nodes = append(c.nodes, n)
		if n.route, err = ReservePort(); err != nil {
			return err
		}
		if n.monitor, err = ReservePort(); err != nil {
			return err
		}
		if n.Server, err = newServer(o, fmt.Sprintf("nats-%d", i+1)); err != nil {
			return err
		}
	}
	return nil
}

// launch starts all at once: none is in step before another is there.
func (c *NATSCluster) launch(ctx context.Context, path string, o Options) error {
	errs := make([]error, len(c.nodes))
	var wait sync.WaitGroup
	for i, n := range c.nodes {
		wait.Go(func() {
			_, errs[i] = n.launchNATS(ctx, path, filepath.Join(n.dir, "data"), func(data string) []byte { return c.config(n, data, o) })
			if errs[i] != nil {
				n.Server = nil // it has left nothing behind
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

func (c *NATSCluster) config(n *natsNode, storeDir string, o Options) []byte {
	var routes []string
	for _, other := range c.nodes {
		if other != n {
			routes = append(routes, fmt.Sprintf("%q", "nats://"+other.route.Addr()))
		}
	}
	config := natsConfig(n.port.Addr(), storeDir, Options{NATSSync: cmp.Or(o.NATSSync, "always"), NATSMonitor: n.monitor.Addr()})
	return fmt.Appendf(config, "server_name: %q\ncluster {\n  name: sluice\n  listen: %q\n  routes: [%s]\n}\n",
		filepath.Base(n.dir), n.route.Addr(), strings.Join(routes, ", "))
}

// URL returns what clients connect to: all servers, separated by commas.
func (c *NATSCluster) URL() string {
	urls := make([]string, len(c.nodes))
	for i, n := range c.nodes {
		urls[i] = n.URL()
	}
	return strings.Join(urls, ",")
}

// Servers returns the servers, dead ones too, always in the same order.
func (c *NATSCluster) Servers() []*Server {
	servers := make([]*Server, len(c.nodes))
	for i, n := range c.nodes {
		servers[i] = n.Server
	}
	return servers
}

// Monitors returns the base URL of each server's monitoring, in the order of Servers.
func (c *NATSCluster) Monitors() []string {
	urls := make([]string, len(c.nodes))
	for i, n := range c.nodes {
		urls[i] = "http://" + n.monitor.Addr()
	}
	return urls
}

// AwaitReady returns once JetStream has a leader and every server is in step with it, or
// when ctx ends, at most in a minute.
func (c *NATSCluster) AwaitReady(ctx context.Context) error {
	return c.await(ctx, "in step", c.inStep)
}

func (c *NATSCluster) await(ctx context.Context, what string, holds func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := holds(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the NATS cluster is not %s: %w", what, errors.Join(err, ctx.Err()))
		case <-time.After(probeEvery):
		}
	}
}

// Close ends the servers, frees their ports and removes their directories.
func (c *NATSCluster) Close() error {
	errs := make([]error, len(c.nodes))
	var wait sync.WaitGroup
	for i, n := range c.nodes {
		wait.Go(func() { errs[i] = n.close() })
	}
	wait.Wait()
	if c.temp != nil {
		errs = append(errs, c.temp.remove())
	}
	return errors.Join(errs...)
}

func (n *natsNode) close() error {
	var errs []error
	switch {
	case n.Server == nil:
	case n.current() == nil: // never started
		errs = append(errs, n.discard())
	default:
		errs = append(errs, n.Close())
	}
	for _, port := range []*Port{n.route, n.monitor} {
		if port != nil {
			errs = append(errs, port.Release())
		}
	}
	return errors.Join(errs...)
}
