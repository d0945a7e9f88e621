package httpapi

import (
	"context"
	"errors"
	"hash/fnv"
	"time"

	"github.com/google/uuid"
	"github.com/valyala/fasthttp"
	"sluice/gateway/internal/catalog"
	"sluice/shared/sale"
)

// ticketBody is what a buyer's app gets and polls.
type ticketBody struct {
	Ticket      string      `json:"ticket"`
	Sale        string      `json:"sale"`
	Status      sale.Status `json:"status"`
	Reason      sale.Reason `json:"reason,omitempty"`
	Ahead       *int64      `json:"ahead,omitempty"` // buyers before this one, while queued
	ETA         *eta        `json:"eta"`             // seconds; null when unknown
	PollAfterMS int64       `json:"poll_after_ms"`
	OrderID     string      `json:"order_id,omitempty"`
	Amount      *int64      `json:"amount,omitempty"` // minor units of currency
	Currency    string      `json:"currency,omitempty"`
	PayBy       time.Time   `json:"pay_by,omitzero"`
	CreatedAt   time.Time   `json:"created_at"`
	UpdatedAt   time.Time   `json:"updated_at"`
	SaleState   sale.State  `json:"sale_state"`
	ServerTime  time.Time   `json:"server_time"`
	Replay      bool        `json:"replay,omitempty"`
}

type eta struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

func (a *API) body(s *catalog.Sale, userID string, t sale.Ticket, now time.Time) ticketBody {
	b := ticketBody{
		Ticket: a.Signer.Sign(s.ID(), userID, t.Slot, t.RID), Sale: s.ID(), Status: t.Status, Reason: t.Reason,
		PayBy: t.PayBy, CreatedAt: t.AcceptedAt, UpdatedAt: t.UpdatedAt, SaleState: s.State(now), ServerTime: serverTime(s, now),
	}
	if t.Status == sale.StatusQueued {
		b.Ahead = ahead(s, t)
	} else if t.Status != sale.StatusRejected {
		price := s.Entry().PriceMinor
		b.OrderID, b.Amount, b.Currency = t.RID, &price, s.Entry().Currency
	}
	b.PollAfterMS = pollAfter(t, b.Ahead, s)
	return b
}

// serverTime is Redis time, to the millisecond that Redis time is kept in.
func serverTime(s *catalog.Sale, now time.Time) time.Time {
	return s.Now(now).UTC().Truncate(time.Millisecond)
}

// ahead is how many buyers are served before t; nil when no worker said how far
// they are.
func ahead(s *catalog.Sale, t sale.Ticket) *int64 {
	p, ok := s.Progress()
	if !ok {
		return nil
	}
	n := max(0, t.Rank-1-p.Served)
	return &n
}

const (
	pollSoon  = 500 * time.Millisecond
	pollLate  = 10 * time.Second
	pollFinal = 30 * time.Second // nothing more is expected to change soon
)

// pollAfter tells a client when to ask again, in milliseconds: the further back,
// the later, spread by up to a quarter so that those of one batch do not come
// back together.
func pollAfter(t sale.Ticket, ahead *int64, s *catalog.Sale) int64 {
	wait := pollFinal
	if t.Status == sale.StatusQueued {
		wait = pollSoon
		if p, ok := s.Progress(); ok && ahead != nil && p.RatePerSecond > 0 {
			wait = time.Duration(float64(*ahead) / p.RatePerSecond / 2 * float64(time.Second))
		}
		wait = min(max(wait, pollSoon), pollLate)
	}
	return (wait + time.Duration(float64(wait)*spread(t.RID)/4)).Milliseconds()
}

// spread maps a ticket to [0, 1), the same at every gateway.
func spread(rid string) float64 {
	h := fnv.New32a()
	h.Write([]byte(rid))
	return float64(h.Sum32()) / (1 << 32)
}

// readTicket is GET /v1/tickets/{ticket}. Forged, malformed and foreign tickets
// are the same 404.
func (a *API) readTicket(ctx *fasthttp.RequestCtx, ticket string) {
	now := time.Now()
	id, err := a.Verifier.Verify(bearer(ctx), now)
	if err != nil {
		unauthenticated(ctx)
		return
	}
	ref, err := a.Signer.Open(ticket, id.UserID)
	if err != nil {
		noSuchTicket(ctx)
		return
	}
	s := a.Catalog.Find(ref.SaleID)
	if s == nil {
		noSuchTicket(ctx)
		return
	}
	found, ok := a.read(ctx, s, func(c context.Context, epoch int64) (sale.Snapshot, []*sale.Ticket, error) {
		return a.Tickets.Tickets(c, s.ID(), epoch, []string{ref.RID})
	})
	if !ok {
		return
	}
	t := found[0]
	if t == nil {
		t = notAccepted(ref.RID, ref.Slot, id.UserID)
	}
	writeJSON(ctx, fasthttp.StatusOK, encode(a.body(s, id.UserID, *t, now)))
}

// notAccepted stands for a ticket that is validly signed and not there at a live
// epoch: it was never answered 202.
func notAccepted(rid string, slot int, userID string) *sale.Ticket {
	at := drawnAt(rid)
	return &sale.Ticket{
		Reservation: sale.Reservation{RID: rid, UserID: userID, Slot: slot, AcceptedAt: at},
		Status:      sale.StatusRejected, Reason: sale.ReasonNotAccepted, UpdatedAt: at,
	}
}

// drawnAt is the time inside a UUIDv7: when the gateway took the attempt in.
func drawnAt(rid string) time.Time {
	id, err := uuid.Parse(rid)
	if err != nil {
		return time.Time{}
	}
	sec, nsec := id.Time().UnixTime()
	return time.Unix(sec, nsec).UTC()
}

// myTickets is GET /v1/sales/{sale}/tickets/me.
func (a *API) myTickets(ctx *fasthttp.RequestCtx, s *catalog.Sale) {
	now := time.Now()
	id, err := a.Verifier.Verify(bearer(ctx), now)
	if err != nil {
		unauthenticated(ctx)
		return
	}
	found, ok := a.read(ctx, s, func(c context.Context, epoch int64) (sale.Snapshot, []*sale.Ticket, error) {
		return a.Tickets.TicketsOf(c, s.ID(), epoch, id.UserID)
	})
	if !ok {
		return
	}
	bodies := make([]ticketBody, len(found))
	for i, t := range found {
		bodies[i] = a.body(s, id.UserID, *t, now)
	}
	writeJSON(ctx, fasthttp.StatusOK, encode(map[string]any{"tickets": bodies}))
}

type readTickets func(ctx context.Context, epoch int64) (sale.Snapshot, []*sale.Ticket, error)

// read asks Redis with the epoch; if it cannot say, it has answered. A sale that
// is not live is 503, never "not there".
func (a *API) read(ctx *fasthttp.RequestCtx, s *catalog.Sale, read readTickets) ([]*sale.Ticket, bool) {
	e := s.Entry()
	if e.Retired {
		retired(ctx)
		return nil, false
	}
	deadline, cancel := context.WithTimeout(context.Background(), a.ReadTimeout)
	defer cancel()
	sent := time.Now()
	snap, found, err := read(deadline, e.Epoch)
	if err != nil {
		if errors.Is(err, sale.ErrStale) {
			s.Disown(e.Epoch)
		} else {
			a.Log.Warn("tickets not read", "sale", s.ID(), "error", err)
		}
		unavailable(nil).write(ctx)
		return nil, false
	}
	s.Observe(snap, sent, time.Now())
	return found, true
}
