package httpapi

import (
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
	"sluice/gateway/internal/catalog"
	"sluice/gateway/internal/funnel"
	"sluice/gateway/internal/tickets"
	"sluice/shared/sale"
)

const (
	lookAfter    = 2 * time.Second  // between two looks at whether the client is there and its token holds
	eventTimeout = 5 * time.Second  // to write one event
	unreadAfter  = 10 * time.Second // that what was written may wait to be taken
	restAfter    = time.Second      // of a read that failed, before the next
)

// errGone ends the stream of a client that has closed its connection.
var errGone = errors.New("the client is gone")

// followTicket is GET /v1/tickets/{ticket}/events: the ticket as server-sent events,
// at once and whenever its ETag changes, until it is final. It takes a waiter's place.
func (a *API) followTicket(ctx *fasthttp.RequestCtx, ticket string) {
	s, ref, ok := a.owned(ctx, ticket)
	if !ok {
		return
	}
	f, ok := a.Tickets.Follow(s, ref)
	if !ok {
		busyFollowing(s.ID()).write(ctx)
		return
	}
	e := &events{api: a, sale: s, userID: ref.UserID, follower: f, conn: ctx.Conn(), raw: socket(ctx.Conn()),
		known: string(ctx.Request.Header.Peek("Last-Event-ID")), believed: a.believes(ctx, ref.UserID)}
	if !e.begin(ctx) {
		f.Leave()
	}
}

// believes asks again what the request said of its sender, which it copies: the request
// is gone by then.
func (a *API) believes(ctx *fasthttp.RequestCtx, userID string) func() bool {
	user, _ := a.userOf(ctx) // it was identified by it
	sender := funnel.Requester{User: user, Token: bearer(ctx)}
	return func() bool {
		id, err := sender.Identify(a.Verifier, a.redisTime())
		return err == nil && id.UserID == userID
	}
}

func busyFollowing(saleID string) problem {
	p := newProblem(kindBusy, detailFollowersFull)
	p.MyTickets, p.retryAfter = myTicketsLink(saleID), 2
	return p
}

// events is the body of a stream. The connection's goroutine reads it, piece by piece:
// each Read waits for what is to be sent, and is written out before the next.
type events struct {
	api      *API
	sale     *catalog.Sale
	userID   string
	follower *tickets.Follower
	conn     net.Conn
	raw      syscall.RawConn
	believed func() bool

	known   string    // id of the last event that the client has
	pending []byte    // what is to be sent
	over    bool      // and nothing after it
	alive   time.Time // when the next sign of life is due
}

// begin answers with what is there, and reports whether the stream goes on from that.
func (e *events) begin(ctx *fasthttp.RequestCtx) bool {
	t, err := e.follower.Next(func(sale.Ticket) bool { return true }, 0)
	if err != nil {
		e.api.unreadable(ctx, e.sale, err)
		return false
	}
	ctx.Response.Header.Set(fasthttp.HeaderCacheControl, "no-store")
	if final(t) && !e.news(t) {
		ctx.SetStatusCode(fasthttp.StatusNoContent) // which tells an EventSource to come no more
		return false
	}
	ctx.Response.Header.Set("X-Accel-Buffering", "no")
	ctx.SetContentType("text/event-stream")
	now := time.Now()
	whole := ctx.Request.Header.IsHTTP11()
	e.pending = fmt.Appendf(nil, "retry: %d\n\n", e.comeBack(t, whole).Milliseconds())
	if e.news(t) {
		e.say(t, now)
	}
	switch {
	case ctx.IsHead(): // as long as GET's would be, which nobody knows
		ctx.Response.SetBodyStream(eof{}, -1)
		return false
	case !whole: // without chunks there is one piece
		ctx.Response.SetBodyRaw(e.pending)
		return false
	}
	if err := breakUnread(e.raw, unreadAfter); err != nil && e.api.faults.Allow() {
		e.api.Log.Warn("stream of events without a limit of what is unread", "error", err)
	}
	e.alive = now.Add(e.api.Alive)
	ctx.Response.SetBodyStream(e, -1)
	return true
}

// eof is a body that has nothing.
type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }

// comeBack is when a client whose stream ended should ask again. Those of a gateway
// that drains all ask another one, so they are spread.
func (e *events) comeBack(t sale.Ticket, stream bool) time.Duration {
	if !stream {
		return time.Duration(e.api.body(e.sale, e.userID, t, e.sale.Clock()).PollAfterMS) * time.Millisecond
	}
	return time.Second + time.Duration(spread(t.RID)*float64(2*time.Second))
}

// Read waits for the next piece, and gives its writing a deadline of its own.
func (e *events) Read(p []byte) (int, error) {
	err := e.fill()
	if errors.Is(err, errGone) {
		return 0, err
	}
	if err := e.conn.SetWriteDeadline(time.Now().Add(eventTimeout)); err != nil {
		return 0, err
	}
	n := copy(p, e.pending)
	e.pending = e.pending[n:]
	return n, err
}

// Close gives the waiter's place back.
func (e *events) Close() error {
	e.follower.Leave()
	return nil
}

// fill waits until something is to be sent; io.EOF when nothing comes any more.
func (e *events) fill() error {
	for len(e.pending) == 0 {
		if e.over {
			return io.EOF
		}
		t, err := e.follower.Next(e.news, min(lookAfter, time.Until(e.alive)))
		now := time.Now()
		switch {
		case gone(e.raw):
			return errGone
		case errors.Is(err, tickets.ErrRetired), !e.believed():
			return io.EOF
		case err == nil && e.news(t):
			e.say(t, now)
		case e.follower.Drained():
			return io.EOF
		case !now.Before(e.alive):
			e.send([]byte(": alive\n\n"), now)
		case err != nil: // lost for now: whoever follows waits for the end of a rebuild
			e.api.unread(e.sale, err)
			e.follower.Rest(restAfter)
		}
	}
	return nil
}

// news reports whether the client does not know this state of the ticket.
func (e *events) news(t sale.Ticket) bool { return ticketTag(e.sale, t) != e.known }

// say sends the ticket as it is.
func (e *events) say(t sale.Ticket, now time.Time) {
	body := e.api.body(e.sale, e.userID, t, e.sale.Clock())
	tag := body.tag()
	e.send(fmt.Appendf(e.pending, "id: %s\nevent: ticket\ndata: %s\n\n", tag, body.appendTo(nil)), now)
	e.known, e.over = tag, final(t)
}

func (e *events) send(piece []byte, now time.Time) {
	e.pending, e.alive = piece, now.Add(e.api.Alive)
}
