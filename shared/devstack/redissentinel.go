package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const (
	sentinels  = 3
	masterName = "sluice"
)

// RedisSentinel is one Redis master with a replica, and three Sentinels that have the one
// take the other's place within some seconds.
type RedisSentinel struct {
	first, second *Server // who of them is the master changes
	sentinels     []*Server
	temp          *tempDir
}

// StartRedisSentinel starts them. It returns once the replica is in step, and the Sentinels
// know of it and of each other.
func StartRedisSentinel(ctx context.Context, o Options) (*RedisSentinel, error) {
	r := &RedisSentinel{}
	if o.Dir == "" {
		temp, err := newTempDir()
		if err != nil {
			return nil, err
		}
		r.temp, o.Dir = temp, temp.path
	}
	if err := r.start(ctx, o); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *RedisSentinel) start(ctx context.Context, o Options) (err error) {
	common := []string{"--min-replicas-to-write", "1", "--repl-diskless-sync-delay", "0"}
	if r.first, err = startRedis(ctx, o, "redis-1", common...); err != nil {
		return err
	}
	master := strconv.Itoa(r.first.port.number)
	if r.second, err = startRedis(ctx, o, "redis-2", append(common, "--replicaof", "127.0.0.1", master)...); err != nil {
		return err
	}
	if err := until(ctx, func() error { return inStep(ctx, r.first, 1) }); err != nil {
		return err
	}
	for i := range sentinels {
		s, err := startSentinel(ctx, o, "sentinel-"+strconv.Itoa(i+1), master)
		if err != nil {
			return err
		}
		r.sentinels = append(r.sentinels, s)
	}
	return r.Whole(ctx)
}

func startSentinel(ctx context.Context, o Options, name, master string) (*Server, error) {
	s, err := newServer(o, name)
	if err != nil {
		return nil, err
	}
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, errors.Join(err, s.discard())
	}
	config := filepath.Join(s.dir, "sentinel.conf") // which it rewrites
	text := fmt.Sprintf("bind 127.0.0.1\nport %d\ndir %q\nsentinel monitor %s 127.0.0.1 %s 2\n"+
		"sentinel down-after-milliseconds %[3]s 2000\nsentinel failover-timeout %[3]s 6000\n", s.port.number, s.dir, masterName, master)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot write the configuration of %s: %w", name, err), s.discard())
	}
	return s.launch(ctx, program{
		name: name, url: "redis://" + s.port.Addr() + "/0", data: filepath.Join(s.dir, "none"),
		stop: syscall.SIGTERM, death: syscall.SIGKILL, probe: probeRedis,
		command: func() (*exec.Cmd, error) { return exec.Command(path, config, "--sentinel"), nil },
	})
}

// Whole returns once the replica is in step with the master, and every Sentinel knows both
// and the others.
func (r *RedisSentinel) Whole(ctx context.Context) error {
	return until(ctx, func() error {
		master, err := r.Master(ctx)
		if err != nil {
			return err
		}
		for _, s := range []*Server{r.first, r.second} {
			if err := inStep(ctx, s, 1); err != nil {
				return err
			}
		}
		for _, s := range r.sentinels {
			info, err := redisInfo(ctx, s, "INFO", "sentinel")
			if want := fmt.Sprintf("name=%s,status=ok,address=%s,slaves=1,sentinels=%d", masterName, master.port.Addr(), sentinels); err != nil || info["master0"] != want {
				return errors.Join(fmt.Errorf("%s says %q, want %q", s.name, info["master0"], want), err)
			}
		}
		return nil
	})
}

// URL names the Sentinels and the master.
func (r *RedisSentinel) URL() string {
	addrs := make([]string, len(r.sentinels))
	for i, s := range r.sentinels {
		addrs[i] = s.port.Addr()
	}
	return "redis+sentinel://" + strings.Join(addrs, ",") + "/" + masterName
}

// Servers are the master and the replica, whichever is which.
func (r *RedisSentinel) Servers() []*Server { return []*Server{r.first, r.second} }

// Sentinels are the three of them.
func (r *RedisSentinel) Sentinels() []*Server { return r.sentinels }

// Master is the server that a Sentinel which runs names.
func (r *RedisSentinel) Master(ctx context.Context) (*Server, error) {
	for _, s := range r.sentinels {
		if !s.running() {
			continue
		}
		text, err := redisCommand(ctx, s, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", masterName)
		if err != nil {
			return nil, err
		}
		for _, server := range r.Servers() {
			if strings.HasSuffix(text, "\n"+strconv.Itoa(server.port.number)) {
				return server, nil
			}
		}
		return nil, fmt.Errorf("%s names %q as the master", s.name, text)
	}
	return nil, errors.New("no Sentinel runs")
}

// Close stops all servers and removes their directories.
func (r *RedisSentinel) Close() error {
	servers := r.sentinels
	for _, s := range r.Servers() {
		if s != nil {
			servers = append(servers, s)
		}
	}
	return closeAll(servers, r.temp)
}
