package redisstock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Masters are the servers that take writes, in order of their addresses: those of a cluster
// that have slots, else the one that there is.
func Masters(ctx context.Context, client redis.UniversalClient) ([]*redis.Client, error) {
	cluster, sharded := client.(*redis.ClusterClient)
	if !sharded {
		one, ok := client.(*redis.Client)
		if !ok {
			return nil, fmt.Errorf("cannot list the masters of a %T", client)
		}
		return []*redis.Client{one}, nil
	}
	var mu sync.Mutex
	var masters []*redis.Client
	err := cluster.ForEachMaster(ctx, func(_ context.Context, master *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		masters = append(masters, master)
		return nil
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot list the masters of the redis cluster: %w", err)
	case len(masters) == 0:
		return nil, errors.New("cannot list the masters of the redis cluster: it has no slots, or does not say who has them")
	}
	slices.SortFunc(masters, func(a, b *redis.Client) int { return cmp.Compare(a.Options().Addr, b.Options().Addr) })
	return masters, nil
}

// Sharded reports whether sales are spread over the masters of a cluster.
func (c *Client) Sharded() bool {
	_, sharded := c.rdb.(*redis.ClusterClient)
	return sharded
}

// onMasters asks all masters at once. failed has the faults of those that failed, each with
// its address where there are several.
func (c *Client) onMasters(ctx context.Context, ask func(context.Context, *redis.Client) error) (masters int, failed []error, err error) {
	all, err := Masters(ctx, c.rdb)
	if err != nil {
		return 0, nil, err
	}
	faults := make([]error, len(all))
	var asking sync.WaitGroup
	for i, master := range all {
		asking.Go(func() { faults[i] = c.named(master, ask(ctx, master)) })
	}
	asking.Wait()
	return len(all), slices.DeleteFunc(faults, func(err error) bool { return err == nil }), nil
}

func (c *Client) named(master *redis.Client, err error) error {
	if err == nil || !c.Sharded() {
		return err
	}
	return fmt.Errorf("%s: %w", master.Options().Addr, err)
}

// someMaster is onMasters for what one answer is enough: a shard that is away must not
// keep the others' sales from being sold.
func (c *Client) someMaster(ctx context.Context, ask func(context.Context, *redis.Client) error) error {
	masters, failed, err := c.onMasters(ctx, ask)
	if err == nil && len(failed) == masters {
		err = errors.Join(failed...)
	}
	return err
}

// everyMaster is onMasters for what all must answer.
func (c *Client) everyMaster(ctx context.Context, ask func(context.Context, *redis.Client) error) error {
	_, failed, err := c.onMasters(ctx, ask)
	if err == nil {
		err = errors.Join(failed...)
	}
	return err
}

// anyMaster asks one master after the other, in no order, until one answers.
func (c *Client) anyMaster(ctx context.Context, ask func(context.Context, *redis.Client) error) error {
	all, err := Masters(ctx, c.rdb)
	if err != nil {
		return err
	}
	var failed []error
	for _, i := range rand.Perm(len(all)) {
		err := c.named(all[i], ask(ctx, all[i]))
		if err == nil {
			return nil
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}
