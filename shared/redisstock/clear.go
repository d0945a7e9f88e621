package redisstock

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// clearing is how many epochs one call clears away: each is ten keys.
const clearing = 100

// Clear removes everything of a sale up to an epoch: meta and the newest epoch
// first, after which every script answers STALE, then what older epochs may have
// left. The server frees the memory in the background, so a large sale does not
// hold up the others. Repeated, it changes nothing.
func (c *Client) Clear(ctx context.Context, saleID string, epoch int64) error {
	if err := c.rdb.Unlink(ctx, keys(saleID, epoch)...).Err(); err != nil {
		return fmt.Errorf("cannot clear sale %s: %w", saleID, err)
	}
	return c.DropOlderEpochs(ctx, saleID, epoch)
}

// DropOlderEpochs removes what is left of a sale's epochs before the given one, by
// name: a search would go through the keys of every sale. The server frees the memory
// in the background. It may be repeated.
func (c *Client) DropOlderEpochs(ctx context.Context, saleID string, epoch int64) error {
	for newest := epoch - 1; newest >= 0; newest -= clearing {
		var names []string
		for e := newest; e >= 0 && e > newest-clearing; e-- {
			names = append(names, keys(saleID, e)[1:]...) // meta is of all epochs
		}
		if err := c.rdb.Unlink(ctx, names...).Err(); err != nil {
			return fmt.Errorf("cannot remove old epochs of sale %s: %w", saleID, err)
		}
	}
	return nil
}

// OlderEpochs lists the epochs before the given one of which Redis still has tickets, the
// newest first. A load that is refused again and again leaves hundreds behind it without any.
func (c *Client) OlderEpochs(ctx context.Context, saleID string, epoch int64) ([]int64, error) {
	var older []int64
	for newest := epoch - 1; newest >= 0; newest -= clearing {
		var there []*redis.IntCmd
		_, err := c.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			for e := newest; e >= 0 && e > newest-clearing; e-- {
				there = append(there, p.Exists(ctx, ticketsKey(saleID, e)))
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("cannot look for old epochs of sale %s: %w", saleID, err)
		}
		for i, found := range there {
			if found.Val() == 1 {
				older = append(older, newest-int64(i))
			}
		}
	}
	return older, nil
}
