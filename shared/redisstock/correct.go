package redisstock

import (
	"context"
	"fmt"

	"sluice/lua"
	"sluice/shared/sale"
)

// Correct sets a sale's stock, and its sold-out flag by that, if the sale is still as
// it was seen. done is false when anything has moved since: look again.
func (c *Client) Correct(ctx context.Context, seen sale.Snapshot, handOff int64, stock int64) (snap sale.Snapshot, done bool, err error) {
	snap, rest, err := c.run(ctx, lua.Correct, seen.SaleID, seen.Epoch, seen.Version, seen.Stock, seen.Total, seen.Rank, seen.Served, seen.Given, handOff, stock)
	if err != nil {
		return snap, false, err
	}
	set, err := codes(rest, 1)
	if err != nil {
		return snap, false, fmt.Errorf("cannot read reply of correct: %w", err)
	}
	return snap, set[0] == 1, nil
}
