package redisstock

import (
	"context"
	"fmt"
)

// clearing is how many epochs one call clears away: each is nine keys.
const clearing = 100

// Clear removes everything of a sale up to an epoch: meta and the newest epoch
// first, after which every script answers STALE, then what older epochs may have
// left. The server frees the memory in the background, so a large sale does not
// hold up the others. Repeated, it changes nothing.
func (c *Client) Clear(ctx context.Context, saleID string, epoch int64) error {
	for newest := epoch; newest >= 0; newest -= clearing {
		var names []string
		for e := newest; e >= 0 && e > newest-clearing; e-- {
			of := keys(saleID, e)
			if e != epoch {
				of = of[1:] // meta is of all epochs
			}
			names = append(names, of...)
		}
		if err := c.rdb.Unlink(ctx, names...).Err(); err != nil {
			return fmt.Errorf("cannot clear sale %s: %w", saleID, err)
		}
	}
	return nil
}
