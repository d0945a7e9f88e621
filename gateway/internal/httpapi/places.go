package httpapi

import (
	"fmt"
	"net"
	"time"

	"github.com/valyala/fasthttp"
	"sluice/gateway/internal/language"
)

// Connection is told what its client is doing, so that whoever needs its place knows
// whether it is awaited.
type Connection interface {
	Answering() bool // the client's request is there in full; false if nobody takes the answer any more
	Awaiting()       // the client has its answer, and its next request is awaited
}

// answering is Handle for requests on connections that want to know of them.
func (a *API) answering(ctx *fasthttp.RequestCtx) {
	if c, ok := ctx.Conn().(Connection); ok && !c.Answering() {
		ctx.SetConnectionClose()
		return
	}
	a.Handle(ctx)
}

// awaiting hears of every answer that was written.
func awaiting(conn net.Conn, state fasthttp.ConnState) {
	if c, ok := conn.(Connection); ok && state == fasthttp.StateIdle {
		c.Awaiting()
	}
}

// RefusedConnections are what a connection is answered that gets no place, as bytes:
// nothing of it is read, so nobody knows what it would have asked, nor in which
// language. Full is for when all places are taken, tooMany for an address that has
// too many itself.
func RefusedConnections() (full, tooMany []byte) {
	return refusedConnection(newProblem(kindBusy, detailConnectionsFull), time.Second),
		refusedConnection(newProblem(kindTooManyRequests, detailConnectionsOfAddress), readTimeout)
}

func refusedConnection(p problem, retry time.Duration) []byte {
	body := p.in(language.English)
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\nServer: %s\r\nConnection: close\r\nCache-Control: no-store\r\nRetry-After: %d\r\nContent-Language: %s\r\nContent-Type: application/problem+json\r\nContent-Length: %d\r\n\r\n",
		p.status(), fasthttp.StatusMessage(p.status()), serverName, seconds(retry), language.English.Tag(), len(body))
	return append([]byte(head), body...)
}
