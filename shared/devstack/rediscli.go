package devstack

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// redisCommand has redis-cli send one command to a server and returns the reply as it
// prints it; an error that the server answers is one here.
func redisCommand(ctx context.Context, s *Server, args ...string) (string, error) {
	cli, err := exec.LookPath("redis-cli")
	if err != nil {
		return "", errors.New("redis-cli is not on the PATH: install it (Debian: apt-get install redis-tools)")
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, cli, append([]string{"-e", "-h", "127.0.0.1", "-p", strconv.Itoa(s.port.number)}, args...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s does not %s: %w: %s", s.name, strings.Join(args[:min(3, len(args))], " "), err, strings.TrimSpace(string(out)))
	}
	return strings.TrimSpace(string(out)), nil
}

// redisInfo reads a section of INFO, or what CLUSTER INFO says.
func redisInfo(ctx context.Context, s *Server, command ...string) (map[string]string, error) {
	text, err := redisCommand(ctx, s, command...)
	if err != nil {
		return nil, err
	}
	fields := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			fields[name] = value
		}
	}
	return fields, nil
}

// inStep returns once a server's replication is as it should be: a master has so many
// replicas, which have all that it had when this was called; a replica is linked to its
// master.
func inStep(ctx context.Context, s *Server, replicas int) error {
	info, err := redisInfo(ctx, s, "INFO", "replication")
	if err != nil {
		return err
	}
	if info["role"] == "slave" {
		if info["master_link_status"] != "up" {
			return fmt.Errorf("%s is not linked to its master", s.name)
		}
		return nil
	}
	wanted, err := strconv.ParseInt(info["master_repl_offset"], 10, 64)
	if err != nil {
		return fmt.Errorf("cannot read what %s has written: %w", s.name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, tellWithin)
	defer cancel()
	return until(ctx, func() error {
		info, err := redisInfo(ctx, s, "INFO", "replication")
		if err != nil {
			return err
		}
		for i := range replicas {
			if err := has(info["slave"+strconv.Itoa(i)], wanted); err != nil {
				return fmt.Errorf("replica %d of %s: %w", i, s.name, err)
			}
		}
		return nil
	})
}

// tellWithin is a second, in which a replica says how far it is, and patience.
const tellWithin = 5 * time.Second

// has says why a replica, as its master lists it, does not have everything up to offset.
func has(listed string, offset int64) error {
	_, rest, _ := strings.Cut(listed, ",offset=")
	text, _, _ := strings.Cut(rest, ",")
	if at, err := strconv.ParseInt(text, 10, 64); err != nil || at < offset || !strings.Contains(listed, ",state=online,") {
		return fmt.Errorf("not in step: %q, not at %d", listed, offset)
	}
	return nil
}

// until repeats ask until it returns nil.
func until(ctx context.Context, ask func() error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(5 * probeEvery): // each asks with processes of its own
		}
	}
}

func (s *Server) running() bool {
	select {
	case <-s.Exited():
		return false
	default:
		return true
	}
}
