package redisstock

import (
	"context"
	"fmt"

	"sluice/lua"
	"sluice/shared/sale"
)

// Release closes tickets and gives their units back, one result a release.
func (c *Client) Release(ctx context.Context, saleID string, epoch int64, releases []sale.Release) (sale.Snapshot, []sale.Released, error) {
	args := make([]any, 0, 5*len(releases))
	for _, r := range releases {
		args = append(args, r.RID, string(r.Status), string(r.Reason), r.Give, holder(r))
	}
	state, rest, err := c.run(ctx, lua.Release, saleID, epoch, args...)
	if err != nil {
		return state, nil, err
	}
	results, err := codes(rest, len(releases))
	if err != nil {
		return state, nil, fmt.Errorf("cannot read reply of release: %w", err)
	}
	released := make([]sale.Released, len(results))
	for i, code := range results {
		released[i] = sale.Released(code)
	}
	return state, released, nil
}

// holder says what becomes of a slot, as release.lua reads it.
func holder(r sale.Release) string {
	switch {
	case r.Holder != "":
		return r.Holder
	case r.Slot == sale.SlotOpens:
		return "-"
	case r.Slot == sale.SlotStays:
		return r.RID
	default:
		return ""
	}
}
