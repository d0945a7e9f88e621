package redisstock

import (
	"context"
	"errors"
	"fmt"

	"sluice/lua"
	"sluice/shared/sale"
)

// ErrFence is sale.ErrFence.
var ErrFence = sale.ErrFence

// LoadTicket is sale.LoadTicket.
type LoadTicket = sale.LoadTicket

// Live is sale.Live.
type Live = sale.Live

// Fence marks the sale as loading towards epoch. Until Flip every other call on
// the sale returns sale.ErrStale.
func (c *Client) Fence(ctx context.Context, saleID string, epoch int64, token string) error {
	return c.loading(ctx, lua.Fence, saleID, epoch, token)
}

// LoadAllow adds users to the allow list of an epoch that is loading.
func (c *Client) LoadAllow(ctx context.Context, saleID string, epoch int64, token string, users []string) error {
	args := make([]any, 0, len(users)+2)
	args = append(args, token, "allow")
	for _, u := range users {
		args = append(args, u)
	}
	return c.loading(ctx, lua.Load, saleID, epoch, args...)
}

// LoadAdjusted tells an epoch that is loading which adjustments are in the total that
// it will go live with, so that none of them moves units again. They are those of the
// same count that Live.Total and Live.Stock come from: an increase is among
// them once Postgres counts it, a decrease once Postgres has lowered its total. One that
// is not among them is still open in Postgres, and its loop brings it to the new epoch.
func (c *Client) LoadAdjusted(ctx context.Context, saleID string, epoch int64, token string, adjusted []sale.Adjustment) error {
	args := make([]any, 0, 2*len(adjusted)+2)
	args = append(args, token, "adjusted")
	for _, a := range adjusted {
		args = append(args, a.ID, a.Delta)
	}
	return c.loading(ctx, lua.Load, saleID, epoch, args...)
}

// LoadTickets adds tickets, in order of rank, to an epoch that is loading.
func (c *Client) LoadTickets(ctx context.Context, saleID string, epoch int64, token string, tickets []LoadTicket) error {
	args := make([]any, 0, 13*len(tickets)+2)
	args = append(args, token, "tickets")
	for _, t := range tickets {
		args = append(args, t.RID, flag(t.HoldsSlot), flag(!t.Status.Closed()), t.UserID, t.Slot, t.Key, t.Rank,
			string(t.Status), string(t.Reason), millis(t.AcceptedAt), millis(t.UpdatedAt), millis(t.PayBy),
			flag(t.Status != sale.StatusQueued))
	}
	return c.loading(ctx, lua.Load, saleID, epoch, args...)
}

// Flip lets the loaded epoch go live.
func (c *Client) Flip(ctx context.Context, token string, l Live) error {
	e := l.Entry
	return c.loading(ctx, lua.Flip, e.ID, e.Epoch, token,
		l.Stock, l.Rank, l.Accepted, l.Served, l.Unpaid, l.Given,
		e.Rev, millis(e.OpensAt), millis(e.ClosesAt), e.PerUserLimit, l.Total,
		flag(e.RebuyAfterRelease), flag(e.Eligibility.HasAllowList), flag(e.Paused), e.AllowRev)
}

// loading runs a script that works behind the fence and answers 1 when it did.
func (c *Client) loading(ctx context.Context, s lua.Script, saleID string, epoch int64, args ...any) error {
	_, rest, err := c.run(ctx, s, saleID, epoch, args...)
	if err != nil && !errors.Is(err, sale.ErrStale) {
		return err
	}
	done, err := codes(rest, 1)
	if err != nil {
		return fmt.Errorf("cannot read reply of %s: %w", s.Name, err)
	}
	if done[0] != 1 {
		return fmt.Errorf("cannot %s sale %s at epoch %d: %w", s.Name, saleID, epoch, ErrFence)
	}
	return nil
}
