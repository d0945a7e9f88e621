package funnel

import (
	"time"

	"sluice/gateway/internal/catalog"
	"sluice/gateway/internal/tickets"
	"sluice/shared/sale"
)

// Outcomes wait for what becomes of a reservation.
type Outcomes interface {
	Await(s *catalog.Sale, ref tickets.Ref, enough func(sale.Ticket) bool, within time.Duration) (sale.Ticket, error)
}

// instant lets an accepted attempt of an instant sale wait for its outcome, within
// the budget. It is the same path as queued: who is not served in time holds a
// ticket.
func (f *Funnel) instant(s *catalog.Sale, r Result) Result {
	if r.Outcome != sale.Accepted || s.Entry().Mode != sale.ModeInstant {
		return r
	}
	f.exits.Enter(sale.LayerInstant)
	r.Layer = sale.LayerInstant
	ref := tickets.Ref{RID: r.Ticket.RID, Slot: r.Ticket.Slot, UserID: r.UserID}
	t, err := f.outcomes.Await(s, ref, decidedTicket, f.config.InstantBudget)
	if err != nil {
		f.log.Debug("outcome not read in time", "sale", s.ID(), "error", err)
		return r // accepted all the same: the ticket says more, later
	}
	r.Ticket = t
	switch t.Status {
	case sale.StatusConfirmed, sale.StatusPaid:
		r.Outcome = sale.Confirmed
	case sale.StatusRejected:
		r.Outcome = sale.Rejected
	case sale.StatusQueued, sale.StatusExpired, sale.StatusCancelled, sale.StatusRefunded:
	}
	return r
}

func decidedTicket(t sale.Ticket) bool { return t.Status != sale.StatusQueued }
