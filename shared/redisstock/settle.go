package redisstock

import (
	"context"
	"fmt"

	"sluice/lua"
	"sluice/shared/sale"
)

// Settle shows confirmed or paid orders on their tickets, one result a
// settlement. It moves forward only and never moves units.
func (c *Client) Settle(ctx context.Context, saleID string, epoch int64, settlements []sale.Settlement) (sale.Snapshot, []sale.Settled, error) {
	args := make([]any, 0, 3*len(settlements))
	for _, s := range settlements {
		args = append(args, s.RID, string(s.Status), millis(s.PayBy))
	}
	state, rest, err := c.run(ctx, lua.Settle, saleID, epoch, args...)
	if err != nil {
		return state, nil, err
	}
	results, err := codes(rest, len(settlements))
	if err != nil {
		return state, nil, fmt.Errorf("cannot read reply of settle: %w", err)
	}
	settled := make([]sale.Settled, len(results))
	for i, code := range results {
		settled[i] = sale.Settled(code)
	}
	return state, settled, nil
}
