package devstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

const (
	redisMasters = 3
	redisSlots   = 16384
)

// RedisCluster is a Redis Cluster on loopback: three masters, each with a replica or more,
// which take over within some seconds. Its servers are killed and restarted by themselves;
// which of them are masters changes.
type RedisCluster struct {
	servers  []*Server
	replicas int // of each master
	temp     *tempDir
}

// StartRedisCluster starts three masters and Options.RedisReplicas replicas of each, set as
// level ha wants them: a master without a replica refuses writes. It returns once the
// cluster is whole and every replica in step.
func StartRedisCluster(ctx context.Context, o Options) (*RedisCluster, error) {
	c := &RedisCluster{replicas: max(1, o.RedisReplicas)}
	if o.Dir == "" {
		temp, err := newTempDir()
		if err != nil {
			return nil, err
		}
		c.temp, o.Dir = temp, temp.path
	}
	if err := errors.Join(c.start(ctx, o), ctx.Err()); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if err := c.join(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// start starts all servers at once, each a cluster of its own.
func (c *RedisCluster) start(ctx context.Context, o Options) error {
	servers := make([]*Server, redisMasters*(1+c.replicas))
	errs := make([]error, len(servers))
	var wait sync.WaitGroup
	for i := range servers {
		wait.Go(func() { servers[i], errs[i] = startClusterNode(ctx, o, "redis-"+strconv.Itoa(i+1)) })
	}
	wait.Wait()
	for _, s := range servers {
		if s != nil {
			c.servers = append(c.servers, s)
		}
	}
	return errors.Join(errs...)
}

func startClusterNode(ctx context.Context, o Options, name string) (*Server, error) {
	bus, err := ReservePort() // the usual one is beyond the ports that are reserved here
	if err != nil {
		return nil, err
	}
	s, err := startRedis(ctx, o, name, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(bus.number), "--cluster-node-timeout", "2000",
		"--cluster-require-full-coverage", "no", "--min-replicas-to-write", "1", "--repl-diskless-sync-delay", "0")
	if err != nil {
		return nil, errors.Join(err, bus.Release())
	}
	s.also = append(s.also, bus)
	return s, nil
}

// join makes one cluster of the servers: the first three are the masters, and the others
// replicas of them in turn.
func (c *RedisCluster) join(ctx context.Context) error {
	ids := make([]string, len(c.servers))
	for i, s := range c.servers {
		id, err := redisCommand(ctx, s, "CLUSTER", "MYID")
		if err != nil {
			return err
		}
		ids[i] = id
		if _, err := redisCommand(ctx, s, "CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1)); err != nil {
			return err
		}
		if i < redisMasters {
			from, to := i*redisSlots/redisMasters, (i+1)*redisSlots/redisMasters-1
			if _, err := redisCommand(ctx, s, "CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(from), strconv.Itoa(to)); err != nil {
				return err
			}
		}
	}
	for _, s := range c.servers[1:] {
		if _, err := redisCommand(ctx, c.servers[0], "CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(s.port.number), strconv.Itoa(s.also[0].number)); err != nil {
			return err
		}
	}
	for i, s := range c.servers[redisMasters:] {
		err := until(ctx, func() error { // it must have heard of its master
			_, err := redisCommand(ctx, s, "CLUSTER", "REPLICATE", ids[i%redisMasters])
			return err
		})
		if err != nil {
			return fmt.Errorf("cannot make %s a replica: %w", s.name, err)
		}
	}
	return c.Whole(ctx)
}

// URL names every server.
func (c *RedisCluster) URL() string {
	addrs := make([]string, len(c.servers))
	for i, s := range c.servers {
		addrs[i] = s.port.Addr()
	}
	return "redis+cluster://" + strings.Join(addrs, ",")
}

// Servers are all of them, in the order in which they were started.
func (c *RedisCluster) Servers() []*Server { return c.servers }

// Close stops all servers and removes their directories.
func (c *RedisCluster) Close() error { return closeAll(c.servers, c.temp) }

func closeAll(servers []*Server, temp *tempDir) error {
	errs := make([]error, len(servers))
	var wait sync.WaitGroup
	for i, s := range servers {
		wait.Go(func() { errs[i] = s.Close() })
	}
	wait.Wait()
	if temp != nil {
		errs = append(errs, temp.remove())
	}
	return errors.Join(errs...)
}

// Whole returns once every server runs and finds the cluster well, all of them know the
// same masters, and every replica is in step.
func (c *RedisCluster) Whole(ctx context.Context) error {
	return until(ctx, func() error {
		masters := ""
		for _, s := range c.servers {
			known, err := c.seenBy(ctx, s)
			switch {
			case err != nil:
				return err
			case masters != "" && known != masters:
				return fmt.Errorf("%s knows other masters: %s, not %s", s.name, known, masters)
			}
			masters = known
		}
		return nil
	})
}

// seenBy checks one server, and returns the masters that it knows.
func (c *RedisCluster) seenBy(ctx context.Context, s *Server) (masters string, err error) {
	info, err := redisInfo(ctx, s, "CLUSTER", "INFO")
	if err != nil {
		return "", err
	}
	if info["cluster_state"] != "ok" || info["cluster_known_nodes"] != strconv.Itoa(len(c.servers)) || info["cluster_slots_ok"] != strconv.Itoa(redisSlots) {
		return "", fmt.Errorf("%s finds the cluster %s, with %s servers and %s slots", s.name, info["cluster_state"], info["cluster_known_nodes"], info["cluster_slots_ok"])
	}
	nodes, err := c.nodes(ctx, s)
	if err != nil {
		return "", err
	}
	replicas := 0
	for _, n := range nodes {
		switch {
		case n.gone:
			return "", fmt.Errorf("%s finds %s gone", s.name, n.addr)
		case n.master && len(n.slots) > 0:
			masters += n.addr + " "
		case !n.master:
			replicas++
		}
	}
	if want := len(c.servers) - len(strings.Fields(masters)); replicas != want {
		return "", fmt.Errorf("%s knows %d replicas, want %d", s.name, replicas, want)
	}
	return masters, inStep(ctx, s, c.replicas)
}

// clusterNode is a line of CLUSTER NODES.
type clusterNode struct {
	id, addr     string
	master, gone bool
	slots        []string // such as 0-5460; a slot that is moving is in brackets
}

// nodes are those that s knows, in order of their addresses.
func (c *RedisCluster) nodes(ctx context.Context, s *Server) ([]clusterNode, error) {
	text, err := redisCommand(ctx, s, "CLUSTER", "NODES")
	if err != nil {
		return nil, err
	}
	byAddr := make(map[string]clusterNode)
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 8 {
			return nil, fmt.Errorf("cannot read the nodes that %s knows: %q", s.name, line)
		}
		addr, _, _ := strings.Cut(fields[1], "@")
		flags := "," + fields[2] + ","
		byAddr[addr] = clusterNode{id: fields[0], addr: addr, slots: fields[8:],
			master: strings.Contains(flags, ",master,"), gone: strings.Contains(flags, ",fail") || strings.Contains(flags, ",handshake,")}
	}
	var nodes []clusterNode
	for _, server := range c.servers {
		if n, known := byAddr[server.port.Addr()]; known {
			nodes = append(nodes, n)
		}
	}
	return nodes, nil
}

// MasterOf is the server that has a key's slot, as a server that runs knows it. It may be
// one that has ended, until a replica takes over.
func (c *RedisCluster) MasterOf(ctx context.Context, key string) (*Server, error) {
	var errs []error
	for _, s := range c.servers {
		if !s.running() {
			continue
		}
		n, err := c.masterOf(ctx, s, key)
		if err == nil {
			return c.server(n.addr)
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("cannot tell who has %q: %w", key, errors.Join(errs...))
}

func (c *RedisCluster) server(addr string) (*Server, error) {
	for _, s := range c.servers {
		if s.port.Addr() == addr {
			return s, nil
		}
	}
	return nil, fmt.Errorf("%s is no server of this cluster", addr)
}

func (c *RedisCluster) masterOf(ctx context.Context, asked *Server, key string) (clusterNode, error) {
	slot, err := slotOf(ctx, asked, key)
	if err != nil {
		return clusterNode{}, err
	}
	nodes, err := c.nodes(ctx, asked)
	if err != nil {
		return clusterNode{}, err
	}
	for _, n := range nodes {
		if n.master && includes(n.slots, slot) {
			return n, nil
		}
	}
	return clusterNode{}, fmt.Errorf("slot %d has no master", slot)
}

func slotOf(ctx context.Context, asked *Server, key string) (int, error) {
	text, err := redisCommand(ctx, asked, "CLUSTER", "KEYSLOT", key)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

func includes(ranges []string, slot int) bool {
	for _, r := range ranges {
		first, last, _ := strings.Cut(r, "-")
		from, err := strconv.Atoi(first)
		to, errTo := strconv.Atoi(cmp.Or(last, first))
		if err == nil && errTo == nil && from <= slot && slot <= to {
			return true
		}
	}
	return false
}
