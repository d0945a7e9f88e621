package httpapi

import (
	"bytes"
	"strings"

	"github.com/valyala/fasthttp"
)

// writeCached answers with a body that may be kept and asked for again by its tag.
func writeCached(ctx *fasthttp.RequestCtx, tag, cacheControl, contentType string, body []byte) {
	ctx.Response.Header.Set(fasthttp.HeaderCacheControl, cacheControl)
	ctx.Response.Header.Set(fasthttp.HeaderETag, tag)
	if matches(knownTags(ctx), tag) {
		ctx.SetStatusCode(fasthttp.StatusNotModified)
		return
	}
	writeBody(ctx, fasthttp.StatusOK, contentType, body)
}

// knownTags is what the client has, as If-None-Match says it; "" when it says nothing.
func knownTags(ctx *fasthttp.RequestCtx) string {
	return string(bytes.Join(ctx.Request.Header.PeekAll(fasthttp.HeaderIfNoneMatch), []byte(", ")))
}

// matches reports whether tag is in a list of tags. The comparison is weak: a proxy
// that compresses puts W/ in front. No tag of ours has a quote or a comma inside, so
// one found in its quotes is a whole one.
func matches(known, tag string) bool { return known == "*" || strings.Contains(known, tag) }
