package devstack

import (
	"context"
	"errors"
	"sync"
)

// HA is every store as level ha wants it: a Redis Cluster of three masters with a replica
// each, three nats-servers, and a Postgres primary with a synchronous standby.
type HA struct {
	Redis    *RedisCluster
	NATS     *NATSCluster
	Postgres *PostgresPair
	dir      string
	temp     *tempDir // of dir; nil when the caller chose it
}

// StartHA starts all of them at once. On an error nothing is left behind.
func StartHA(ctx context.Context, o Options) (*HA, error) {
	h := &HA{dir: o.Dir}
	if o.Dir == "" {
		temp, err := newTempDir()
		if err != nil {
			return nil, err
		}
		h.temp, h.dir, o.Dir = temp, temp.path, temp.path
	}
	var wait sync.WaitGroup
	var redisErr, natsErr, postgresErr error
	wait.Go(func() { h.Redis, redisErr = StartRedisCluster(ctx, o) })
	wait.Go(func() { h.NATS, natsErr = StartNATSCluster(ctx, o) })
	wait.Go(func() { h.Postgres, postgresErr = StartPostgresPair(ctx, o) })
	wait.Wait()
	if err := errors.Join(redisErr, natsErr, postgresErr); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// Dir returns the directory that holds the servers' directories.
func (h *HA) Dir() string { return h.dir }

// Close stops all servers and removes their directories.
func (h *HA) Close() error {
	var ends []func() error
	if h.Redis != nil {
		ends = append(ends, h.Redis.Close)
	}
	if h.NATS != nil {
		ends = append(ends, h.NATS.Close)
	}
	if h.Postgres != nil {
		ends = append(ends, h.Postgres.Close)
	}
	errs := make([]error, len(ends))
	var wait sync.WaitGroup
	for i, end := range ends {
		wait.Go(func() { errs[i] = end() })
	}
	wait.Wait()
	if h.temp != nil {
		errs = append(errs, h.temp.remove())
	}
	return errors.Join(errs...)
}
