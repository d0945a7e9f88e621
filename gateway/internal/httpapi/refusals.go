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
	soldOut  [2]*prepared // by may_return
	closed   *prepared
	limit    *prepared
	paused   *prepared
	busy     *prepared
	fault    *prepared
	notOpen  atomic.Pointer[notOpen]
	myTicket string
}

type notOpen struct {
	opensAt time.Time
	*prepared
}

func myTicketsLink(saleID string) string { return "/v1/sales/" + saleID + "/tickets/me" }

func newRefusals(saleID string) *refusals {
	r := &refusals{myTicket: myTicketsLink(saleID)}
	for i, may := range []bool{false, true} {
		p := newProblem(kindSoldOut, detailSoldOut)
		p.MayReturn, p.MyTickets = &may, r.myTicket
		r.soldOut[i] = prepare(p)
	}
	r.closed = r.linked(kindClosed, detailClosed)
	r.limit = r.linked(kindLimitReached, detailLimitReached)
	r.paused = r.linked(kindPaused, detailPaused)
	r.busy = r.linked(kindBusy, detailBusy)
	r.fault = r.linked(kindUnavailable, detailAskMyTickets)
	return r
}

// linked prepares a problem that says where the buyer's tickets are.
func (r *refusals) linked(k kind, d detail) *prepared {
	p := newProblem(k, d)
	p.MyTickets = r.myTicket
	return prepare(p)
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
		r.soldOut[i].write(ctx, 0)
	case sale.OutOfWindow:
		r.closed.write(ctx, 0)
	case sale.LimitReached:
		r.limit.write(ctx, 0)
	case sale.NotOpen:
		r.notOpenAt(snap.OpensAt).write(ctx, seconds(snap.OpensAt.Sub(s.Now(now))))
	case sale.Paused:
		r.paused.write(ctx, 2)
	case sale.Busy:
		r.busy.write(ctx, 1)
	default:
		r.fault.write(ctx, 1)
	}
}

// notOpenAt encodes the answer again only when the window was moved.
func (r *refusals) notOpenAt(opensAt time.Time) *prepared {
	if n := r.notOpen.Load(); n != nil && n.opensAt.Equal(opensAt) {
		return n.prepared
	}
	p := newProblem(kindNotOpen, detailNotOpen)
	p.OpensAt, p.MyTickets = opensAt.UTC(), r.myTicket
	n := &notOpen{opensAt, prepare(p)}
	r.notOpen.Store(n)
	return n.prepared
}

// seconds rounds up, to at least 1: a Retry-After that is not too early.
func seconds(d time.Duration) int {
	return max(1, int((d+time.Second-1)/time.Second))
}
