package redisstock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/shared/sale"
)

// Settings are what a Redis server says about itself.
type Settings struct {
	Node            string // host:port of a cluster's master; empty when there is one server
	Version         string
	AppendOnly      string // yes or no
	AppendFsync     string // always, everysec or no
	LastWrite       string // to the append only file: ok or err
	MaxMemory       int64  // bytes, 0 for no limit
	MaxMemoryPolicy string
	Replicas        int    // that are connected and in step
	MinReplicas     int64  // without which writes are refused
	FullCoverage    string // cluster-require-full-coverage of a cluster's master: yes or no
	Now             time.Time
	Asked           time.Time // when Now was asked for, by this process's clock
	Answered        time.Time // and when it was answered
	Unreadable      error     // why CONFIG GET is refused, nil when it is not; its fields are then empty
}

// Settings reads the settings of the server, or of every master of a cluster, in order of
// their addresses. All must answer.
func (c *Client) Settings(ctx context.Context) ([]Settings, error) {
	var mu sync.Mutex
	var all []Settings
	err := c.everyMaster(ctx, func(ctx context.Context, master *redis.Client) error {
		s, err := c.settings(ctx, master)
		mu.Lock()
		defer mu.Unlock()
		all = append(all, s)
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b Settings) int { return cmp.Compare(a.Node, b.Node) })
	return all, nil
}

func (c *Client) settings(ctx context.Context, master *redis.Client) (Settings, error) {
	info, err := master.Info(ctx).Result()
	if err != nil {
		return Settings{}, fmt.Errorf("cannot read redis settings: %w", err)
	}
	fields := map[string]string{}
	for line := range strings.Lines(info) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			fields[name] = value
		}
	}
	s := Settings{Version: fields["redis_version"], LastWrite: fields["aof_last_write_status"], Replicas: inStep(fields), Asked: time.Now()}
	if s.Now, err = master.Time(ctx).Result(); err != nil {
		return Settings{}, fmt.Errorf("cannot read redis time: %w", err)
	}
	s.Answered = time.Now()
	s.Unreadable = errors.Join(
		config(ctx, master, "appendonly", func(v string) (err error) { s.AppendOnly = v; return nil }),
		config(ctx, master, "appendfsync", func(v string) (err error) { s.AppendFsync = v; return nil }),
		config(ctx, master, "maxmemory-policy", func(v string) (err error) { s.MaxMemoryPolicy = v; return nil }),
		config(ctx, master, "maxmemory", func(v string) (err error) { s.MaxMemory, err = strconv.ParseInt(v, 10, 64); return err }),
		config(ctx, master, "min-replicas-to-write", func(v string) (err error) { s.MinReplicas, err = strconv.ParseInt(v, 10, 64); return err }),
	)
	if c.Sharded() {
		s.Node = master.Options().Addr
		s.Unreadable = errors.Join(s.Unreadable, config(ctx, master, "cluster-require-full-coverage", func(v string) error { s.FullCoverage = v; return nil }))
	}
	return s, nil
}

// inStep counts the replicas that follow the server.
func inStep(info map[string]string) (n int) {
	for i := range 64 {
		if strings.Contains(info["slave"+strconv.Itoa(i)], "state=online") {
			n++
		}
	}
	return n
}

func config(ctx context.Context, master *redis.Client, name string, take func(string) error) error {
	values, err := master.ConfigGet(ctx, name).Result()
	if err != nil {
		return fmt.Errorf("cannot read redis setting %s: %w", name, err)
	}
	return take(values[name])
}

// CheckScripts loads every script, on every master, and runs one that only reads.
func (c *Client) CheckScripts(ctx context.Context) error {
	if err := c.everyMaster(ctx, c.loadScripts); err != nil {
		return err
	}
	_, _, err := c.Snapshot(ctx, "no-such-sale", 0)
	if errors.Is(err, sale.ErrStale) {
		return nil
	}
	return err
}
