package httpapi

import (
	"errors"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"
	"sluice/gateway/internal/catalog"
	"sluice/gateway/internal/funnel"
	"sluice/shared/auth"
	"sluice/shared/sale"
	"sluice/shared/strictjson"
)

// attempt is POST /v1/sales/{sale}/orders: one attempt for one unit. Another method
// is no attempt: it does not count and takes nothing out of a client's limit.
func (a *API) attempt(ctx *fasthttp.RequestCtx, s *catalog.Sale) {
	if !ctx.IsPost() {
		methodNotAllowed(ctx, fasthttp.MethodPost)
		return
	}
	now := a.Catalog.Clock()
	a.Exits.Enter(sale.LayerAddress)
	if retry, ok := a.Address.Allow(a.clientOf(ctx), now); !ok {
		a.Exits.Leave(sale.LayerAddress, sale.TooMany)
		tooMany(ctx, sale.LayerAddress, a.Address.Policy(), retry)
		return
	}
	a.Exits.Enter(sale.LayerRequest)
	key, bad := readAttempt(ctx)
	user, misnamed := a.userOf(ctx)
	if bad == nil {
		bad = misnamed
	}
	switch {
	case s == nil:
		a.Exits.Leave(sale.LayerRequest, sale.NoSuchSale)
		noSuchSale(ctx)
		return
	case bad != nil:
		a.Exits.Leave(sale.LayerRequest, sale.Invalid)
		bad.write(ctx)
		return
	}
	if outcome, refused := a.Funnel.Memory(s, now); refused {
		a.refuse(ctx, s, outcome, now)
		return
	}
	a.answer(ctx, s, a.Funnel.Attempt(s, funnel.Requester{User: user, Token: bearer(ctx)}, key))
}

func (a *API) answer(ctx *fasthttp.RequestCtx, s *catalog.Sale, r funnel.Result) {
	now := s.Clock()
	switch {
	case r.Outcome == sale.Unauthenticated:
		unauthenticated(ctx)
	case r.Outcome == sale.TooMany:
		tooMany(ctx, r.Layer, a.Users.Policy(), r.RetryAfter)
	case r.Outcome == sale.NotEligible:
		notEligible(r.Refusal).write(ctx)
	case r.HasTicket():
		body := a.body(s, r.UserID, r.Ticket, now)
		ctx.Response.Header.Set(fasthttp.HeaderLocation, "/v1/tickets/"+body.Ticket)
		answerTicket(ctx, r.Outcome, body)
	default:
		a.refuse(ctx, s, r.Outcome, now)
	}
}

// answerTicket answers an attempt that a reservation stands behind.
func answerTicket(ctx *fasthttp.RequestCtx, o sale.Outcome, body ticketBody) {
	switch o {
	case sale.Accepted:
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, strconv.Itoa(seconds(time.Duration(body.PollAfterMS)*time.Millisecond)))
		writeTicket(ctx, fasthttp.StatusAccepted, body)
	case sale.Confirmed:
		writeTicket(ctx, fasthttp.StatusCreated, body)
	case sale.Replay:
		body.Replay = true
		writeTicket(ctx, fasthttp.StatusOK, body)
	case sale.Rejected:
		rejected(body).write(ctx)
	default:
		handOverUnknown(body).write(ctx)
	}
}

// writeTicket makes the body on the stack; SetBody copies it into memory that the
// connection keeps.
func writeTicket(ctx *fasthttp.RequestCtx, status int, body ticketBody) {
	ctx.SetStatusCode(status)
	ctx.SetContentType("application/json")
	var space [usualTicket]byte
	ctx.Response.SetBody(body.appendTo(space[:0]))
}

func rejected(ticket ticketBody) problem {
	p := newProblem(kindRejected, detailRejected)
	p.Reason, p.Ticket = string(ticket.Reason), &ticket
	return p
}

func notEligible(r sale.Refusal) problem {
	p := newProblem(kindNotEligible, refusalDetail(r))
	p.Reason = string(r)
	return p
}

func refusalDetail(r sale.Refusal) detail {
	switch r {
	case sale.RefusalAge:
		return detailTooYoung
	case sale.RefusalOrders:
		return detailTooFewOrders
	case sale.RefusalTag:
		return detailMissingTag
	case sale.RefusalAllowList, sale.Eligible:
	}
	return detailNotInvited
}

// readAttempt checks the body and the idempotency key; "" when none is sent.
func readAttempt(ctx *fasthttp.RequestCtx) (string, *problem) {
	if field, err := strictjson.EmptyObject(ctx.PostBody(), ""); err != nil {
		p := notEmpty(field, err)
		return "", &p
	}
	header := ctx.Request.Header.PeekAll("Idempotency-Key")
	switch len(header) {
	case 0:
		return "", nil
	case 1:
	default:
		p := invalidRequest("Idempotency-Key", detailKeyOnce)
		return "", &p
	}
	key, err := sale.ParseIdempotencyKey(string(header[0]))
	if err != nil {
		p := noKey(err)
		return "", &p
	}
	return key, nil
}

// notEmpty tells of a body that is not as strictjson.EmptyObject takes it.
func notEmpty(field string, err error) problem {
	var unknown *strictjson.UnknownFieldError
	switch {
	case errors.As(err, &unknown):
		return invalidRequest(field, detailUnknownField, unknown.Name)
	case errors.Is(err, strictjson.ErrDataBehind):
		return invalidRequest(field, detailDataBehind)
	default:
		return invalidRequest(field, detailNotEmptyObject)
	}
}

// noKey tells of a header that sale.ParseIdempotencyKey does not take.
func noKey(err error) problem {
	var length sale.KeyLengthError
	if errors.As(err, &length) {
		return invalidRequest("Idempotency-Key", detailKeyLength, int(length))
	}
	return invalidRequest("Idempotency-Key", detailKeyCharacter)
}

// bearer copies the token out of the request; "" when there is none, or more than one.
func bearer(ctx *fasthttp.RequestCtx) string {
	headers := ctx.Request.Header.PeekAll(fasthttp.HeaderAuthorization)
	if len(headers) != 1 {
		return ""
	}
	return auth.Bearer(string(headers[0]))
}

func writeJSON(ctx *fasthttp.RequestCtx, status int, body []byte) {
	writeBody(ctx, status, "application/json", body)
}

func writeBody(ctx *fasthttp.RequestCtx, status int, contentType string, body []byte) {
	ctx.SetStatusCode(status)
	ctx.SetContentType(contentType)
	ctx.Response.SetBodyRaw(body)
}
