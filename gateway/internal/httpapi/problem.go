package httpapi

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"
	"sluice/gateway/internal/language"
)

// problem is an application/problem+json answer (RFC 9457) before it is known which
// language it is told in.
type problem struct {
	kind   kind
	detail detail
	args   []any // of the detail
	members

	retryAfter int // seconds; 0 leaves the header out
}

// members are what a problem may have beside type, title, status and detail. None of
// them depends on the language.
type members struct {
	Field     string      `json:"field,omitempty"`      // of the request that is at fault
	Reason    string      `json:"reason,omitempty"`     // not-eligible
	MayReturn *bool       `json:"may_return,omitempty"` // sold-out: unpaid reservations exist
	OpensAt   time.Time   `json:"opens_at,omitzero"`    // not-open
	MyTickets string      `json:"my_tickets,omitempty"` // link
	Ticket    *ticketBody `json:"ticket,omitempty"`     // of a reservation whose hand-over is unknown
}

// problemBody is a problem as it is sent.
type problemBody struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	members
}

func newProblem(k kind, d detail, args ...any) problem {
	return problem{kind: k, detail: d, args: args}
}

func (p problem) status() int { return wire[p.kind].status }

// in encodes the problem in a language.
func (p problem) in(l language.Language) []byte {
	return encode(problemBody{Type: "/problems/" + wire[p.kind].name, Title: spoken[l].titles[p.kind], Status: p.status(),
		Detail: say(l, p.detail, p.args), members: p.members})
}

// write answers for this request alone: a cache that kept a 404 would hide a sale
// that is announced a moment later.
func (p problem) write(ctx *fasthttp.RequestCtx) {
	ctx.Response.Header.Set(fasthttp.HeaderCacheControl, "no-store")
	l := languageOf(ctx)
	writeProblem(ctx, l, p.status(), p.retryAfter, p.in(l))
}

// prepared is a problem that a flood gets: encoded once in each language.
type prepared struct {
	status int
	bodies [language.Count][]byte
}

func prepare(p problem) *prepared {
	made := prepared{status: p.status()}
	for l := range made.bodies {
		made.bodies[l] = p.in(language.Language(l))
	}
	return &made
}

// write answers without allocating.
func (p *prepared) write(ctx *fasthttp.RequestCtx, retryAfter int) {
	l := languageOf(ctx)
	writeProblem(ctx, l, p.status, retryAfter, p.bodies[l])
}

func writeProblem(ctx *fasthttp.RequestCtx, l language.Language, status, retryAfter int, body []byte) {
	ctx.SetStatusCode(status)
	ctx.SetContentType("application/problem+json")
	ctx.Response.Header.Set(fasthttp.HeaderContentLanguage, l.Tag())
	ctx.Response.Header.Set(fasthttp.HeaderVary, language.Header)
	if retryAfter > 0 {
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, strconv.Itoa(retryAfter))
	}
	ctx.Response.SetBodyRaw(body)
}

// languageOf is what the client asks to be answered in.
func languageOf(ctx *fasthttp.RequestCtx) language.Language {
	return language.Preferred(ctx.Request.Header.PeekAll(language.Header))
}

// encode writes a body that can always be encoded.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("body cannot be encoded: " + err.Error())
	}
	return b
}

func invalidRequest(field string, d detail, args ...any) problem {
	p := newProblem(kindInvalidRequest, d, args...)
	p.Field = field
	return p
}

func unauthenticated(ctx *fasthttp.RequestCtx) {
	ctx.Response.Header.Set(fasthttp.HeaderWWWAuthenticate, "Bearer")
	newProblem(kindUnauthenticated, detailUnauthenticated).write(ctx)
}

func noSuchSale(ctx *fasthttp.RequestCtx) { newProblem(kindNoSuchSale, detailNoSuchSale).write(ctx) }

func noSuchTicket(ctx *fasthttp.RequestCtx) {
	newProblem(kindNoSuchTicket, detailNoSuchTicket).write(ctx)
}

func notFound(ctx *fasthttp.RequestCtx) { newProblem(kindNotFound, detailNotFound).write(ctx) }

func methodNotAllowed(ctx *fasthttp.RequestCtx, allow string) {
	ctx.Response.Header.Set(fasthttp.HeaderAllow, allow)
	newProblem(kindMethodNotAllowed, detailOtherMethods).write(ctx)
}

func unavailable(d detail) problem {
	p := newProblem(kindUnavailable, d)
	p.retryAfter = 1
	return p
}

// handOverUnknown carries the ticket of a reservation that may be lost or not.
func handOverUnknown(ticket ticketBody) problem {
	p := unavailable(detailHandOverUnknown)
	p.Ticket = &ticket
	return p
}

func retired(ctx *fasthttp.RequestCtx) { newProblem(kindRetired, detailRetired).write(ctx) }
