package httpapi

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"
)

// problem is an application/problem+json answer (RFC 9457).
type problem struct {
	Type   string `json:"type"` // /problems/NAME
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`

	Field     string      `json:"field,omitempty"`      // of the request that is at fault
	Reason    string      `json:"reason,omitempty"`     // not-eligible
	MayReturn *bool       `json:"may_return,omitempty"` // sold-out: unpaid reservations exist
	OpensAt   time.Time   `json:"opens_at,omitzero"`    // not-open
	MyTickets string      `json:"my_tickets,omitempty"` // link
	Ticket    *ticketBody `json:"ticket,omitempty"`     // of a reservation whose hand-over is unknown

	RetryAfter int `json:"-"` // seconds; 0 leaves the header out
}

// write answers for this request alone: a cache that kept a 404 would hide a sale
// that is announced a moment later.
func (p problem) write(ctx *fasthttp.RequestCtx) {
	ctx.Response.Header.Set(fasthttp.HeaderCacheControl, "no-store")
	writeProblem(ctx, p.Status, p.RetryAfter, encode(p))
}

// writeProblem answers with a body that is already encoded, without allocating.
func writeProblem(ctx *fasthttp.RequestCtx, status, retryAfter int, body []byte) {
	ctx.SetStatusCode(status)
	ctx.SetContentType("application/problem+json")
	if retryAfter > 0 {
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, strconv.Itoa(retryAfter))
	}
	ctx.Response.SetBodyRaw(body)
}

// encode writes a body that can always be encoded.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("body cannot be encoded: " + err.Error())
	}
	return b
}

func invalidRequest(field, detail string) problem {
	return problem{Type: "/problems/invalid-request", Title: "Invalid request", Status: fasthttp.StatusBadRequest,
		Detail: detail, Field: field}
}

func unauthenticated(ctx *fasthttp.RequestCtx) {
	ctx.Response.Header.Set(fasthttp.HeaderWWWAuthenticate, "Bearer")
	problem{Type: "/problems/unauthenticated", Title: "Not authenticated", Status: fasthttp.StatusUnauthorized,
		Detail: "Send a valid token: Authorization: Bearer JWT."}.write(ctx)
}

func noSuchSale(ctx *fasthttp.RequestCtx) {
	problem{Type: "/problems/no-such-sale", Title: "No such sale", Status: fasthttp.StatusNotFound,
		Detail: "This sale is not in the catalogue; GET /v1/sales lists those that are."}.write(ctx)
}

func noSuchTicket(ctx *fasthttp.RequestCtx) {
	problem{Type: "/problems/no-such-ticket", Title: "No such ticket", Status: fasthttp.StatusNotFound,
		Detail: "This is not a ticket of yours."}.write(ctx)
}

func notFound(ctx *fasthttp.RequestCtx) {
	problem{Type: "/problems/not-found", Title: "Nothing is here", Status: fasthttp.StatusNotFound,
		Detail: "The path is not part of this API; GET /v1/sales lists the sales."}.write(ctx)
}

func methodNotAllowed(ctx *fasthttp.RequestCtx, allow string) {
	ctx.Response.Header.Set(fasthttp.HeaderAllow, allow)
	problem{Type: "/problems/method-not-allowed", Title: "Method not allowed", Status: fasthttp.StatusMethodNotAllowed,
		Detail: "This path takes other methods; see the Allow header."}.write(ctx)
}

// tooMany refuses a client address that is over its limit.
func (a *API) tooMany(ctx *fasthttp.RequestCtx, retry time.Duration) {
	wait := strconv.Itoa(seconds(retry))
	ctx.Response.Header.Set("RateLimit-Policy", a.Address.Policy())
	ctx.Response.Header.Set("RateLimit", `"address";r=0;t=`+wait)
	writeProblem(ctx, fasthttp.StatusTooManyRequests, seconds(retry), tooManyBody)
}

var tooManyBody = encode(problem{Type: "/problems/too-many-requests", Title: "Too many requests", Status: fasthttp.StatusTooManyRequests,
	Detail: "This address sends more attempts than one client may; see Retry-After."})

func unavailable(detail string) problem {
	return problem{Type: "/problems/unavailable", Title: "Temporarily unavailable", Status: fasthttp.StatusServiceUnavailable,
		Detail: detail, RetryAfter: 1}
}

// handOverUnknown carries the ticket of a reservation that may be lost or not.
func handOverUnknown(ticket *ticketBody) problem {
	p := unavailable("Your reservation is made; its hand-over is not yet known. Poll the ticket, or try again.")
	p.Ticket = ticket
	return p
}

func retired(ctx *fasthttp.RequestCtx) {
	problem{Type: "/problems/retired", Title: "Sale retired", Status: fasthttp.StatusGone,
		Detail: "This sale is over and its tickets are archived; see your orders."}.write(ctx)
}
