package chaos

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// keys are the keys in Redis, but those of other rounds' sales, with how many entries each has.
func (r *Round) keys(ctx context.Context) (map[string]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	cache, err := r.redisClient()
	if err != nil {
		return nil, err
	}
	defer func() { _ = cache.Close() }() // it only read
	sizes := make(map[string]int64)
	all := cache.Scan(ctx, 0, "*", 1000).Iterator()
	for all.Next(ctx) {
		key := all.Val()
		if strings.Contains(key, "{row-") && !strings.Contains(key, "{"+r.saleID) {
			continue
		}
		if sizes[key], err = entries(ctx, cache, key); err != nil {
			return nil, fmt.Errorf("cannot read key %s of Redis: %w", key, err)
		}
	}
	if err := all.Err(); err != nil {
		return nil, fmt.Errorf("cannot read the keys of Redis: %w", err)
	}
	return sizes, nil
}

// entries is how many a key has; of a plain value, 1.
func entries(ctx context.Context, cache redis.UniversalClient, key string) (int64, error) {
	kind, err := cache.Type(ctx, key).Result()
	if err != nil {
		return 0, err
	}
	switch kind {
	case "hash":
		return cache.HLen(ctx, key).Result()
	case "set":
		return cache.SCard(ctx, key).Result()
	case "zset":
		return cache.ZCard(ctx, key).Result()
	default:
		return 1, nil
	}
}
