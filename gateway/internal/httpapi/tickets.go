package httpapi

import (
	"errors"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"
	"sluice/gateway/internal/catalog"
	"sluice/gateway/internal/tickets"
	"sluice/shared/sale"
)

// readTicket is GET /v1/tickets/{ticket}[?wait=SECONDS].
func (a *API) readTicket(ctx *fasthttp.RequestCtx, ticket string) {
	s, ref, ok := a.owned(ctx, ticket)
	if !ok {
		return
	}
	wait, bad := readWait(ctx)
	if bad != nil {
		bad.write(ctx)
		return
	}
	t, err := a.readAfter(s, ref, knownTags(ctx), wait)
	if err != nil {
		a.unreadable(ctx, s, err)
		return
	}
	body := a.body(s, ref.UserID, t, s.Clock())
	writeCached(ctx, body.tag(), "private, no-cache", "application/json", body.appendTo(make([]byte, 0, usualTicket)))
}

// owned opens a ticket of the buyer who asks; if it is none, it has answered. Forged,
// malformed and foreign tickets are the same 404.
func (a *API) owned(ctx *fasthttp.RequestCtx, ticket string) (*catalog.Sale, tickets.Ref, bool) {
	id, ok := a.identify(ctx)
	if !ok {
		return nil, tickets.Ref{}, false
	}
	ref, err := a.Signer.Open(ticket, id.UserID)
	if err != nil {
		noSuchTicket(ctx)
		return nil, tickets.Ref{}, false
	}
	s := a.Catalog.Find(ref.SaleID)
	if s == nil {
		ofUnknownSale(ctx, ref.RID, a.redisTime())
		return nil, tickets.Ref{}, false
	}
	return s, tickets.Ref{RID: ref.RID, Slot: ref.Slot, UserID: id.UserID}, true
}

// announcedWithin is how long the catalogue may take from one gateway's first
// reservation of a sale to another's hearing of the sale, with a wide margin.
const announcedWithin = time.Minute

// ofUnknownSale answers for a ticket that some gateway has signed for this buyer,
// of a sale that this one does not know: it was retired so long ago that it is
// forgotten, unless the ticket is so young that the sale's announcement may be under
// way. Without this a gateway would have to remember every sale there ever was.
func ofUnknownSale(ctx *fasthttp.RequestCtx, rid string, now time.Time) {
	if now.Sub(tickets.DrawnAt(rid)) < announcedWithin {
		unavailable(detailTicketUnreadable).write(ctx)
		return
	}
	retired(ctx)
}

// maxWait is the longest that a read of a ticket may wait.
const maxWait = 25 // seconds

func readWait(ctx *fasthttp.RequestCtx) (time.Duration, *problem) {
	args := ctx.QueryArgs()
	if !args.Has("wait") {
		return 0, nil
	}
	values := args.PeekMulti("wait")
	if len(values) > 1 {
		p := invalidRequest("wait", detailWaitOnce)
		return 0, &p
	}
	// Unsigned, so that a sign is a mistake too.
	seconds, err := strconv.ParseUint(string(values[0]), 10, 8)
	if err != nil || seconds > maxWait {
		p := invalidRequest("wait", detailWaitRange, maxWait)
		return 0, &p
	}
	return time.Duration(seconds) * time.Second, nil
}

// readAfter reads a ticket after waiting for what the client does not know yet:
// with a known ETag for another one, without for an outcome.
func (a *API) readAfter(s *catalog.Sale, ref tickets.Ref, known string, wait time.Duration) (sale.Ticket, error) {
	if wait == 0 {
		return a.Tickets.One(s, ref)
	}
	enough := func(t sale.Ticket) bool {
		switch {
		case final(t):
			return true
		case known != "":
			return !matches(known, ticketTag(s, t))
		default:
			return t.Status != sale.StatusQueued
		}
	}
	return a.Tickets.Await(s, ref, enough, wait)
}

// final reports whether nobody needs to wait for what comes next.
func final(t sale.Ticket) bool { return t.Status.Closed() || t.Status == sale.StatusPaid }

// myTickets is GET /v1/sales/{sale}/tickets/me.
func (a *API) myTickets(ctx *fasthttp.RequestCtx, s *catalog.Sale) {
	id, ok := a.identify(ctx)
	if !ok {
		return
	}
	found, err := a.Tickets.Of(s, id.UserID)
	if err != nil {
		a.unreadable(ctx, s, err)
		return
	}
	now := s.Clock()
	bodies := make([]ticketBody, len(found))
	for i, t := range found {
		bodies[i] = a.body(s, id.UserID, *t, now)
	}
	ctx.Response.Header.Set(fasthttp.HeaderCacheControl, "no-store")
	writeJSON(ctx, fasthttp.StatusOK, encode(map[string]any{"tickets": bodies}))
}

// unreadable answers a read that Redis could not serve. A sale that is not live
// is 503, never "not there".
func (a *API) unreadable(ctx *fasthttp.RequestCtx, s *catalog.Sale, err error) {
	if errors.Is(err, tickets.ErrRetired) {
		retired(ctx)
		return
	}
	a.unread(s, err)
	unavailable(detailTicketUnreadable).write(ctx)
}

// unread notes a read that failed, unless the sale is known not to be live.
func (a *API) unread(s *catalog.Sale, err error) {
	if !errors.Is(err, sale.ErrStale) && a.faults.Allow() {
		a.Log.Warn("tickets not read", "sale", s.ID(), "error", err)
	}
}
