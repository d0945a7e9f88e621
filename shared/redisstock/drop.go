package redisstock

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// DropOlderEpochs removes what is left of a sale's epochs before the given one. Redis
// frees them beside its work, however large they are. It may be repeated.
func (c *Client) DropOlderEpochs(ctx context.Context, saleID string, epoch int64) error {
	prefix := "sluice:{" + saleID + "}:"
	it := c.rdb.Scan(ctx, 0, prefix+"*", 1000).Iterator()
	for it.Next(ctx) {
		number, _, _ := strings.Cut(strings.TrimPrefix(it.Val(), prefix), ":")
		if n, err := strconv.ParseInt(number, 10, 64); err != nil || n >= epoch {
			continue // meta, or an epoch that is or will be live
		}
		if err := c.rdb.Unlink(ctx, it.Val()).Err(); err != nil {
			return fmt.Errorf("cannot remove old epochs of sale %s: %w", saleID, err)
		}
	}
	if err := it.Err(); err != nil {
		return fmt.Errorf("cannot list old epochs of sale %s: %w", saleID, err)
	}
	return nil
}
