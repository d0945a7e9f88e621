package httpapi

import (
	"net/netip"

	"github.com/valyala/fasthttp"
)

// remoteOf is the address that connected.
func remoteOf(ctx *fasthttp.RequestCtx) netip.Addr {
	address, _ := netip.AddrFromSlice(ctx.RemoteIP())
	return address.Unmap()
}

// clientOf is the address that the request is of: who connected, unless that is a
// trusted proxy, which says it.
func (a *API) clientOf(ctx *fasthttp.RequestCtx) netip.Addr {
	remote := remoteOf(ctx)
	if !a.Proxies.Trusts(remote) {
		return remote
	}
	headers := ctx.Request.Header.PeekAll(fasthttp.HeaderXForwardedFor)
	if len(headers) == 1 {
		return a.Proxies.ClientOf(remote, []string{string(headers[0])}) // which does not leave the stack
	}
	said := make([]string, len(headers))
	for i, header := range headers {
		said[i] = string(header)
	}
	return a.Proxies.ClientOf(remote, said)
}
