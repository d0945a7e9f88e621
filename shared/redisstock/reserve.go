package redisstock

import (
	"context"
	"fmt"

	"sluice/lua"
	"sluice/shared/sale"
)

// Reserve decides attempts of one sale in one step, in their order. After an
// error the outcome is unknown: the same call may be repeated.
func (c *Client) Reserve(ctx context.Context, saleID string, epoch int64, attempts []sale.Attempt) (sale.Snapshot, []sale.Decision, error) {
	return c.reserve(ctx, saleID, epoch, false, attempts)
}

// ReserveLate is Reserve for a payment that came after its order's expiry: the window
// and a pause do not matter, all else does.
func (c *Client) ReserveLate(ctx context.Context, saleID string, epoch int64, attempt sale.Attempt) (sale.Snapshot, sale.Decision, error) {
	state, decisions, err := c.reserve(ctx, saleID, epoch, true, []sale.Attempt{attempt})
	if err != nil {
		return state, sale.Decision{}, err
	}
	return state, decisions[0], nil
}

func (c *Client) reserve(ctx context.Context, saleID string, epoch int64, late bool, attempts []sale.Attempt) (sale.Snapshot, []sale.Decision, error) {
	args := make([]any, 0, 3*len(attempts)+1)
	args = append(args, flag(late))
	for _, a := range attempts {
		args = append(args, a.RID, a.UserID, a.Key)
	}
	state, rest, err := c.run(ctx, lua.Reserve, saleID, epoch, args...)
	if err != nil {
		return state, nil, err
	}
	decisions, err := readDecisions(rest, len(attempts))
	return state, decisions, err
}

func readDecisions(rest []any, want int) ([]sale.Decision, error) {
	if len(rest) != want {
		return nil, fmt.Errorf("cannot read reply of reserve: %d decisions for %d attempts", len(rest), want)
	}
	decisions := make([]sale.Decision, want)
	for i := range decisions {
		r := row{values: asRow(rest[i])}
		code := sale.DecisionCode(r.int(0))
		decisions[i].Code = code
		if code.HasTicket() {
			decisions[i].InHandOff = r.int(2) == 1
			decisions[i].Ticket = r.ticket(1, 3)
		}
		if r.err != nil {
			return nil, fmt.Errorf("cannot read reply of reserve: %w", r.err)
		}
	}
	return decisions, nil
}
