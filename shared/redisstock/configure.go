package redisstock

import (
	"context"
	"fmt"

	"sluice/lua"
	"sluice/shared/sale"
)

// Configure takes an entry's window, limit and flags into a live sale, unless Redis
// has one of its rev or newer. It reports whether anything changed. Units are not
// moved: the total has a way of its own.
func (c *Client) Configure(ctx context.Context, e sale.Entry) (sale.Snapshot, bool, error) {
	snap, rest, err := c.run(ctx, lua.Configure, e.ID, e.Epoch, e.Rev, millis(e.OpensAt), millis(e.ClosesAt), e.PerUserLimit,
		flag(e.RebuyAfterRelease), flag(e.Eligibility.HasAllowList), flag(e.Paused))
	if err != nil {
		return snap, false, err
	}
	taken, err := codes(rest, 1)
	if err != nil {
		return snap, false, fmt.Errorf("cannot read reply of configure: %w", err)
	}
	return snap, taken[0] == 1, nil
}
