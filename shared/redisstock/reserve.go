package redisstock

import (
	"context"
	"fmt"
	"time"

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
	if decisions[0].Code == sale.DecidedLost {
		return state, sale.Decision{}, fmt.Errorf("cannot reserve %s in sale %s: its ticket is lost", attempt.RID, saleID)
	}
	return state, decisions[0], nil
}

func (c *Client) reserve(ctx context.Context, saleID string, epoch int64, late bool, attempts []sale.Attempt) (sale.Snapshot, []sale.Decision, error) {
	args := make([]any, 0, 3*len(attempts)+1)
	args = append(args, flag(late))
	for i := range attempts { // a pointer goes into an argument as it is, a string is put on the heap first
		a := &attempts[i]
		args = append(args, &a.RID, &a.UserID, &a.Key)
	}
	state, rest, err := c.run(ctx, lua.Reserve, saleID, epoch, args...)
	if err != nil {
		return state, nil, err
	}
	decisions, err := readDecisions(rest, attempts, state)
	return state, decisions, err
}

func readDecisions(rest []any, attempts []sale.Attempt, state sale.Snapshot) ([]sale.Decision, error) {
	if len(rest) != len(attempts) {
		return nil, fmt.Errorf("cannot read reply of reserve: %d decisions for %d attempts", len(rest), len(attempts))
	}
	decisions := make([]sale.Decision, len(attempts))
	rank := state.Rank // of the last that was accepted in this call
	for i := len(rest) - 1; i >= 0; i-- {
		code, plain := rest[i].(int64)
		switch slot := code - acceptedNow; {
		case !plain:
			decisions[i] = heldDecision(asRow(rest[i]))
		case slot >= 1 && slot <= sale.MaxPerUserLimit && rank >= 1:
			decisions[i] = accepted(attempts[i], int(slot), rank, state.Now)
			rank--
		case sale.DecisionCode(code).Refuses() || code == int64(sale.DecidedLost):
			decisions[i].Code = sale.DecisionCode(code)
		default:
			return nil, fmt.Errorf("cannot read reply of reserve: %d is no decision without a ticket, at rank %d", code, rank)
		}
	}
	return decisions, nil
}

// acceptedNow plus the slot is the reply for an attempt that this call accepted.
const acceptedNow = 100

// accepted is the decision of an attempt that this call accepted, as the script writes
// its ticket.
func accepted(a sale.Attempt, slot int, rank int64, now time.Time) sale.Decision {
	return sale.Decision{Code: sale.DecidedAccepted, InHandOff: true, Ticket: sale.Ticket{
		Reservation: sale.Reservation{RID: a.RID, UserID: a.UserID, Slot: slot, Key: a.Key, Rank: rank, AcceptedAt: now},
		Status:      sale.StatusQueued, UpdatedAt: now,
	}}
}

// heldDecision is that of an attempt which a reservation answers. A ticket that cannot
// be read is lost to those whom it answers, not to the others of the call.
func heldDecision(values []any) sale.Decision {
	r := row{values: values}
	d := sale.Decision{Code: sale.DecisionCode(r.int(0)), InHandOff: r.int(2) == 1, Ticket: r.ticket(1, 3)}
	if r.err != nil || !d.Code.HasTicket() {
		return sale.Decision{Code: sale.DecidedLost}
	}
	return d
}
