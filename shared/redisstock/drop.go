package redisstock

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// DropOlderEpochs removes what is left of a sale's epochs before the given one. Redis
// frees them beside its work, however large they are. It may be repeated.
func (c *Client) DropOlderEpochs(ctx context.Context, saleID string, epoch int64) error {
	return c.eachOlderKey(ctx, saleID, epoch, func(key string, _ int64) error {
		if err := c.rdb.Unlink(ctx, key).Err(); err != nil {
			return fmt.Errorf("cannot remove old epochs of sale %s: %w", saleID, err)
		}
		return nil
	})
}

// OlderEpochs lists the epochs before the given one of which Redis still has tickets.
func (c *Client) OlderEpochs(ctx context.Context, saleID string, epoch int64) ([]int64, error) {
	var older []int64
	err := c.eachOlderKey(ctx, saleID, epoch, func(key string, n int64) error {
		if key == ticketsKey(saleID, n) && !slices.Contains(older, n) {
			older = append(older, n)
		}
		return nil
	})
	return older, err
}

func (c *Client) eachOlderKey(ctx context.Context, saleID string, epoch int64, visit func(key string, epoch int64) error) error {
	prefix := "sluice:{" + saleID + "}:"
	it := c.rdb.Scan(ctx, 0, prefix+"*", 1000).Iterator()
	for it.Next(ctx) {
		number, _, _ := strings.Cut(strings.TrimPrefix(it.Val(), prefix), ":")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n >= epoch {
			continue // meta, or an epoch that is or will be live
		}
		if err := visit(it.Val(), n); err != nil {
			return err
		}
	}
	if err := it.Err(); err != nil {
		return fmt.Errorf("cannot list old epochs of sale %s: %w", saleID, err)
	}
	return nil
}
