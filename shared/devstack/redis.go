package devstack

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// StartRedis starts redis-server from the PATH: append only file synced every
// second, no snapshots, no eviction. It returns once PING is answered.
func StartRedis(ctx context.Context, o Options) (*Server, error) { return startRedis(ctx, o, "redis") }

// startRedis starts a server of its own name, with arguments before those of o.
func startRedis(ctx context.Context, o Options, name string, args ...string) (*Server, error) {
	s, err := newServer(o, name)
	if err != nil {
		return nil, err
	}
	args = append([]string{"--bind", "127.0.0.1", "--port", strconv.Itoa(s.port.number), "--dir", s.dir,
		"--appendonly", "yes", "--appendfsync", "everysec", "--save", "", "--maxmemory-policy", "noeviction"}, args...)
	return s.launchRedis(ctx, name, append(args, o.RedisArgs...))
}

func (s *Server) launchRedis(ctx context.Context, name string, args []string) (*Server, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, errors.Join(errors.New("redis-server is not on the PATH: run 'make setup', or install it (Debian: apt-get install redis-server)"), s.discard())
	}
	return s.launch(ctx, program{
		name: name, url: "redis://" + s.port.Addr() + "/0", data: filepath.Join(s.dir, "appendonlydir"),
		stop: syscall.SIGTERM, death: syscall.SIGKILL, probe: probeRedis,
		command: func() (*exec.Cmd, error) { return exec.Command(path, args...), nil },
	})
}

// probeRedis is satisfied by PONG: a server that still loads its data says LOADING.
func probeRedis(ctx context.Context, addr string) error {
	conn, err := dial(ctx, addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return fmt.Errorf("cannot ping redis: %w", err)
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return fmt.Errorf("cannot read redis's answer: %w", err)
	}
	if line != "+PONG\r\n" {
		return fmt.Errorf("redis answers %s", strings.TrimSpace(line))
	}
	return nil
}

// dial connects to addr; reads and writes end with ctx.
func dial(ctx context.Context, addr string) (net.Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("cannot connect: %w", err)
	}
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return nil, fmt.Errorf("cannot set a deadline: %w", err)
		}
	}
	return conn, nil
}
