package httpapi

import (
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
	"sluice/gateway/internal/catalog"
	"sluice/shared/sale"
)

// refusals are the answers of one sale that a flood gets, encoded once.
type refusals struct {
	soldOut  [2][]byte // by may_return
	closed   []byte
	limit    []byte
	paused   []byte
	busy     []byte
	fault    []byte
	notOpen  atomic.Pointer[notOpen]
	myTicket string
}

type notOpen struct {
	opensAt time.Time
	body    []byte
}

func myTicketsLink(saleID string) string { return "/v1/sales/" + saleID + "/tickets/me" }

func newRefusals(saleID string) *refusals {
	r := &refusals{myTicket: myTicketsLink(saleID)}
	for i, may := range []bool{false, true} {
		r.soldOut[i] = encode(problem{Type: "/problems/sold-out", Title: "Sold out", Status: fasthttp.StatusConflict,
			Detail: "No unit is left. If you had an earlier attempt, my_tickets says what became of it.", MayReturn: &may, MyTickets: r.myTicket})
	}
	r.closed = encode(problem{Type: "/problems/closed", Title: "Sale closed", Status: fasthttp.StatusConflict,
		Detail: "The sale is over. If you had an earlier attempt, my_tickets says what became of it.", MyTickets: r.myTicket})
	r.limit = encode(problem{Type: "/problems/limit-reached", Title: "Limit reached", Status: fasthttp.StatusConflict,
		Detail: "You already hold as many units as one buyer may; my_tickets lists them.", MyTickets: r.myTicket})
	r.paused = encode(problem{Type: "/problems/paused", Title: "Sale paused", Status: fasthttp.StatusServiceUnavailable,
		Detail: "The sale is paused for a moment. Nothing is lost; try again.", MyTickets: r.myTicket})
	r.busy = encode(problem{Type: "/problems/busy", Title: "Busy", Status: fasthttp.StatusServiceUnavailable,
		Detail: "Too many attempts at once. Nothing was reserved; try again.", MyTickets: r.myTicket})
	p := unavailable("Nothing is lost. Ask my_tickets, or try again.")
	p.MyTickets = r.myTicket
	r.fault = encode(p)
	return r
}

func (a *API) refusalsOf(s *catalog.Sale) *refusals {
	if r, ok := a.refusals.Load(s); ok {
		return r.(*refusals)
	}
	r, _ := a.refusals.LoadOrStore(s, newRefusals(s.ID()))
	return r.(*refusals)
}

// refuse writes an answer that needs no ticket and no reason.
func (a *API) refuse(ctx *fasthttp.RequestCtx, s *catalog.Sale, o sale.Outcome, now time.Time) {
	r := a.refusalsOf(s)
	snap, _ := s.Snapshot()
	switch o {
	case sale.SoldOut:
		i := 0
		if snap.Unpaid > 0 {
			i = 1
		}
		writeProblem(ctx, fasthttp.StatusConflict, 0, r.soldOut[i])
	case sale.OutOfWindow:
		writeProblem(ctx, fasthttp.StatusConflict, 0, r.closed)
	case sale.LimitReached:
		writeProblem(ctx, fasthttp.StatusConflict, 0, r.limit)
	case sale.NotOpen:
		wait := snap.OpensAt.Sub(s.Now(now))
		writeProblem(ctx, fasthttp.StatusConflict, seconds(wait), r.notOpenBody(snap.OpensAt))
	case sale.Paused:
		writeProblem(ctx, fasthttp.StatusServiceUnavailable, 2, r.paused)
	case sale.Busy:
		writeProblem(ctx, fasthttp.StatusServiceUnavailable, 1, r.busy)
	default:
		writeProblem(ctx, fasthttp.StatusServiceUnavailable, 1, r.fault)
	}
}

// notOpenBody encodes the answer again only when the window was moved.
func (r *refusals) notOpenBody(opensAt time.Time) []byte {
	if n := r.notOpen.Load(); n != nil && n.opensAt.Equal(opensAt) {
		return n.body
	}
	body := encode(problem{Type: "/problems/not-open", Title: "Not open yet", Status: fasthttp.StatusConflict,
		Detail: "The sale opens at opens_at.", OpensAt: opensAt.UTC(), MyTickets: r.myTicket})
	r.notOpen.Store(&notOpen{opensAt: opensAt, body: body})
	return body
}

// seconds rounds up, to at least 1: a Retry-After that is not too early.
func seconds(d time.Duration) int {
	return max(1, int((d+time.Second-1)/time.Second))
}
