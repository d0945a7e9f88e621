package redisstock

import (
	"context"
	"fmt"
	"time"

	"sluice/lua"
	"sluice/shared/sale"
)

// HandedOver takes rids off the handoff list: JetStream has acknowledged them.
func (c *Client) HandedOver(ctx context.Context, saleID string, epoch int64, rids []string) error {
	args := make([]any, len(rids))
	for i := range rids {
		args[i] = &rids[i]
	}
	_, _, err := c.run(ctx, lua.HandedOver, saleID, epoch, args...)
	return err
}

// Overdue lists at most limit reservations that have been in handoff for longer than
// age, oldest first, then those dated in the future: Redis's clock may go back.
func (c *Client) Overdue(ctx context.Context, saleID string, epoch int64, age time.Duration, limit int) ([]sale.Reservation, error) {
	_, rest, err := c.run(ctx, lua.Overdue, saleID, epoch, age.Milliseconds(), limit)
	if err != nil {
		return nil, err
	}
	tickets, err := readTickets(rest)
	if err != nil {
		return nil, fmt.Errorf("cannot read reply of overdue: %w", err)
	}
	overdue := make([]sale.Reservation, 0, len(tickets))
	for _, t := range tickets {
		if t != nil {
			overdue = append(overdue, t.Reservation)
		}
	}
	return overdue, nil
}

// Snapshot reads a sale's state and its handoff list.
func (c *Client) Snapshot(ctx context.Context, saleID string, epoch int64) (sale.Snapshot, sale.HandOff, error) {
	state, rest, err := c.run(ctx, lua.Snapshot, saleID, epoch)
	if err != nil {
		return state, sale.HandOff{}, err
	}
	r := row{values: rest}
	h := sale.HandOff{Count: r.int(0), Oldest: r.time(1)}
	if r.err != nil {
		return state, sale.HandOff{}, fmt.Errorf("cannot read reply of snapshot: %w", r.err)
	}
	return state, h, nil
}
