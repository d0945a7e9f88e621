package redisstock

import (
	"context"
	"fmt"

	"sluice/lua"
	"sluice/shared/sale"
)

// Adjust moves stock and total by adjustments of one sale, one result each, in their
// order. A repeated id gets the answer it got first at this epoch, and moves nothing.
func (c *Client) Adjust(ctx context.Context, saleID string, epoch int64, adjustments []sale.Adjustment) (sale.Snapshot, []sale.AdjustResult, error) {
	args := make([]any, 0, 2*len(adjustments))
	for _, a := range adjustments {
		args = append(args, a.ID, a.Delta)
	}
	state, rest, err := c.run(ctx, lua.Adjust, saleID, epoch, args...)
	if err != nil {
		return state, nil, err
	}
	if len(rest) != len(adjustments) {
		return state, nil, fmt.Errorf("cannot read reply of adjust: %d results for %d adjustments", len(rest), len(adjustments))
	}
	results := make([]sale.AdjustResult, len(rest))
	for i := range results {
		r := row{values: asRow(rest[i])}
		results[i] = sale.AdjustResult{Code: sale.Adjusted(r.int(0)), Stock: r.int(1)}
		if r.err != nil {
			return state, nil, fmt.Errorf("cannot read reply of adjust: %w", r.err)
		}
	}
	return state, results, nil
}
