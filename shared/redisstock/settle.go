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
	state, rest, err := c.run(ctx, lua.Settle, saleID, epoch, settleArgs(settlements)...)
	if err != nil {
		return state, nil, err
	}
	r := row{values: rest}
	digits := r.string(0)
	if r.err != nil {
		return state, nil, fmt.Errorf("cannot read reply of settle: %w", r.err)
	}
	if len(digits) != len(settlements) {
		return state, nil, fmt.Errorf("cannot read reply of settle: %d results for %d tickets", len(digits), len(settlements))
	}
	settled := make([]sale.Settled, len(digits))
	for i := range digits {
		settled[i] = sale.Settled(digits[i] - '0')
	}
	return state, settled, nil
}

// settleArgs says once what many tickets in a row have in common.
func settleArgs(settlements []sale.Settlement) []any {
	args := make([]any, 0, 3+len(settlements))
	for from := 0; from < len(settlements); {
		first, to := settlements[from], from+1
		for to < len(settlements) && settlements[to].Status == first.Status && settlements[to].PayBy.Equal(first.PayBy) {
			to++
		}
		args = append(args, string(first.Status), millis(first.PayBy), to-from)
		for _, s := range settlements[from:to] {
			args = append(args, s.RID)
		}
		from = to
	}
	return args
}
