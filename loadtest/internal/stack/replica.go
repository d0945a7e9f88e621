package stack

import (
	"context"
	"fmt"
	"net"

	"sluice/shared/devstack"
	"sluice/shared/faultproxy"
	"sluice/shared/redisstock"
)

// RedisReplica is the link from the replica of Redis to Redis, for Proxy.
const RedisReplica = "redis-replica"

// startReplica starts a replica of Redis, which follows it through a proxy of its own, and
// returns once Redis counts on it. Nobody reads from it, and nobody fails over to it.
func (s *Stack) startReplica(ctx context.Context) (err error) {
	if !s.config.RedisReplica {
		return nil
	}
	link, url, err := faultproxy.StartFor(s.stores.one.Redis.URL())
	if err != nil {
		return err
	}
	s.proxies[RedisReplica] = proxy{link, url}
	host, port, err := net.SplitHostPort(link.Addr())
	if err != nil {
		return fmt.Errorf("cannot start a replica of redis: %w", err)
	}
	s.replica, err = devstack.StartRedis(ctx, devstack.Options{Log: s.log, RedisArgs: []string{"--replicaof", host, port}})
	if err != nil {
		return err
	}
	return s.awaitReplica(ctx)
}

func (s *Stack) awaitReplica(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	client, err := redisstock.Open(redisstock.Config{URL: s.stores.one.Redis.URL()})
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }() // it only read
	return poll(ctx, func() error {
		settings, err := client.Settings(ctx)
		if err == nil && settings[0].Replicas == 0 {
			err = fmt.Errorf("redis has no replica that is in step")
		}
		return err
	})
}
