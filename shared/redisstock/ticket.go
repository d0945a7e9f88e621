package redisstock

import (
	"context"
	"fmt"
	"slices"

	"sluice/lua"
	"sluice/shared/sale"
)

// Tickets reads tickets by rid, in the order asked; nil for one that is not there.
func (c *Client) Tickets(ctx context.Context, saleID string, epoch int64, rids []string) (sale.Snapshot, []*sale.Ticket, error) {
	args := make([]any, 0, len(rids)+1)
	args = append(args, "")
	for _, rid := range rids {
		args = append(args, rid)
	}
	return c.tickets(ctx, saleID, epoch, args)
}

// TicketsOf reads a user's last ticket of each slot, newest first.
func (c *Client) TicketsOf(ctx context.Context, saleID string, epoch int64, userID string) (sale.Snapshot, []*sale.Ticket, error) {
	state, tickets, err := c.tickets(ctx, saleID, epoch, []any{userID})
	tickets = slices.DeleteFunc(tickets, func(t *sale.Ticket) bool { return t == nil })
	slices.SortFunc(tickets, func(a, b *sale.Ticket) int { return int(b.Rank - a.Rank) })
	return state, tickets, err
}

func (c *Client) tickets(ctx context.Context, saleID string, epoch int64, args []any) (sale.Snapshot, []*sale.Ticket, error) {
	state, rest, err := c.run(ctx, lua.Ticket, saleID, epoch, args...)
	if err != nil {
		return state, nil, err
	}
	tickets, err := readTickets(rest)
	if err != nil {
		return state, nil, fmt.Errorf("cannot read reply of ticket: %w", err)
	}
	return state, tickets, nil
}

func readTickets(rest []any) ([]*sale.Ticket, error) {
	tickets := make([]*sale.Ticket, len(rest))
	for i, v := range rest {
		r := row{values: asRow(v)}
		if len(r.values) == 0 {
			continue
		}
		t := r.ticket(0, 1)
		if r.err != nil {
			return nil, r.err
		}
		tickets[i] = &t
	}
	return tickets, nil
}
