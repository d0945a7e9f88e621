package httpapi

import (
	"github.com/valyala/fasthttp"
)

// readPage is GET /: the buyer's page, from memory. Browsers ask each time whether theirs is
// still the one.
func (a *API) readPage(ctx *fasthttp.RequestCtx) {
	body, tag := a.Page.Body, a.Page.Tag
	if ctx.Request.Header.HasAcceptEncoding("gzip") {
		body, tag = a.Page.Gzip, a.Page.GzipTag
	}
	h := &ctx.Response.Header
	h.Set(fasthttp.HeaderVary, fasthttp.HeaderAcceptEncoding)
	h.Set(fasthttp.HeaderContentSecurityPolicy, a.Page.Policy)
	h.Set(fasthttp.HeaderReferrerPolicy, "no-referrer") // the address may have had a token
	h.Set(fasthttp.HeaderXContentTypeOptions, "nosniff")
	writeCached(ctx, tag, "public, no-cache", "text/html; charset=utf-8", body)
	if tag == a.Page.GzipTag && ctx.Response.StatusCode() == fasthttp.StatusOK {
		h.Set(fasthttp.HeaderContentEncoding, "gzip")
	}
}
