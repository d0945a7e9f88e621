package httpapi

import (
	"bytes"
	"context"

	"github.com/valyala/fasthttp"
	"sluice/gateway/internal/web"
	"sluice/shared/strictjson"
)

// routeLocal is for what the local shop adds to the page. Other gateways answer 404 to it, as to
// requests under another name than this machine's: a page from elsewhere must not
// get at it by a name that leads here.
func (a *API) routeLocal(ctx *fasthttp.RequestCtx, call []byte) {
	answer := a.signIn
	switch string(call) {
	case "token":
	case "payment":
		answer = a.pay
	default:
		notFound(ctx)
		return
	}
	switch {
	case !ctx.IsPost():
		methodNotAllowed(ctx, fasthttp.MethodPost)
	case a.Local == nil || !web.IsLoopback(string(ctx.Host())):
		notFound(ctx)
	case !bytes.HasPrefix(ctx.Request.Header.ContentType(), []byte("application/json")): // a form may be sent by any site
		invalidRequest(fasthttp.HeaderContentType, detailSendJSON).write(ctx)
	default:
		answer(ctx)
	}
}

// signIn is POST /local/token.
func (a *API) signIn(ctx *fasthttp.RequestCtx) {
	var asked struct {
		User string `json:"user"`
	}
	if field, err := strictjson.Decode(ctx.PostBody(), &asked, "user"); err != nil {
		invalidRequest(field, detailFieldInvalid, field).write(ctx)
		return
	}
	token, err := a.Local.Token(asked.User, a.redisTime())
	if err != nil {
		invalidRequest("user", detailFieldInvalid, "user").write(ctx)
		return
	}
	ctx.Response.Header.Set(fasthttp.HeaderCacheControl, "no-store")
	writeJSON(ctx, fasthttp.StatusOK, encode(map[string]string{"token": token}))
}

// pay is POST /local/payment.
func (a *API) pay(ctx *fasthttp.RequestCtx) {
	var asked struct {
		OrderID  string `json:"order_id"`
		Amount   int64  `json:"amount"`
		Currency string `json:"currency"`
	}
	field, err := strictjson.Decode(ctx.PostBody(), &asked, "order_id", "amount", "currency")
	event := web.Payment(asked.OrderID, asked.Amount, asked.Currency, a.redisTime())
	if err == nil {
		field, err = event.Validate()
	}
	if err != nil {
		invalidRequest(field, detailFieldInvalid, field).write(ctx)
		return
	}
	if err := a.Local.Pay(context.Background(), event); err != nil { // it has a deadline of its own
		if a.faults.Allow() {
			a.Log.Warn("local payment not stored", "order", asked.OrderID, "error", err)
		}
		unavailable(detailPaymentNotStored).write(ctx)
		return
	}
	ctx.Response.Header.Set(fasthttp.HeaderCacheControl, "no-store")
	writeJSON(ctx, fasthttp.StatusOK, []byte("{}"))
}
