package httpapi

import "github.com/valyala/fasthttp"

// trailed reports whether fields follow the body of a request, or are announced to.
// fasthttp finds them by name as it finds headers, but what stands in front of this
// gateway looks at headers: whoever may not send X-Forwarded-For, or speak for a user,
// must not be able to do it behind the body.
func trailed(ctx *fasthttp.RequestCtx) bool {
	if ctx.Request.Header.ContentLength() >= 0 {
		return false // only chunks have room for them
	}
	for range ctx.Request.Header.Trailers() {
		return true
	}
	return false
}

func refuseTrailers(ctx *fasthttp.RequestCtx) {
	ctx.SetConnectionClose()
	invalidRequest(fasthttp.HeaderTrailer, detailNoTrailers).write(ctx)
}
