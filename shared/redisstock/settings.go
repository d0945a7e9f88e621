package redisstock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sluice/shared/sale"
)

// Settings are what a Redis server says about itself.
type Settings struct {
	Version         string
	AppendOnly      string // yes or no
	AppendFsync     string // always, everysec or no
	LastWrite       string // to the append only file: ok or err
	MaxMemory       int64  // bytes, 0 for no limit
	MaxMemoryPolicy string
	Replicas        int   // that are connected and in step
	MinReplicas     int64 // without which writes are refused
	Now             time.Time
	Unreadable      error // why CONFIG GET is refused, nil when it is not; its fields are then empty
}

// Settings reads the server's settings.
func (c *Client) Settings(ctx context.Context) (Settings, error) {
	info, err := c.rdb.Info(ctx).Result()
	if err != nil {
		return Settings{}, fmt.Errorf("cannot read redis settings: %w", err)
	}
	fields := map[string]string{}
	for line := range strings.Lines(info) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			fields[name] = value
		}
	}
	s := Settings{Version: fields["redis_version"], LastWrite: fields["aof_last_write_status"], Replicas: inStep(fields)}
	if s.Now, err = c.rdb.Time(ctx).Result(); err != nil {
		return Settings{}, fmt.Errorf("cannot read redis time: %w", err)
	}
	s.Unreadable = errors.Join(
		c.config(ctx, "appendonly", func(v string) (err error) { s.AppendOnly = v; return nil }),
		c.config(ctx, "appendfsync", func(v string) (err error) { s.AppendFsync = v; return nil }),
		c.config(ctx, "maxmemory-policy", func(v string) (err error) { s.MaxMemoryPolicy = v; return nil }),
		c.config(ctx, "maxmemory", func(v string) (err error) { s.MaxMemory, err = strconv.ParseInt(v, 10, 64); return err }),
		c.config(ctx, "min-replicas-to-write", func(v string) (err error) { s.MinReplicas, err = strconv.ParseInt(v, 10, 64); return err }),
	)
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

func (c *Client) config(ctx context.Context, name string, take func(string) error) error {
	values, err := c.rdb.ConfigGet(ctx, name).Result()
	if err != nil {
		return fmt.Errorf("cannot read redis setting %s: %w", name, err)
	}
	return take(values[name])
}

// CheckScripts loads every script and runs one that only reads.
func (c *Client) CheckScripts(ctx context.Context) error {
	if err := c.LoadScripts(ctx); err != nil {
		return err
	}
	_, _, err := c.Snapshot(ctx, "no-such-sale", 0)
	if errors.Is(err, sale.ErrStale) {
		return nil
	}
	return err
}
