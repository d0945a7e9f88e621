package httpapi

import (
	"github.com/valyala/fasthttp"
	"sluice/gateway/internal/funnel"
	"sluice/shared/auth"
	"sluice/shared/sale"
)

// userOf is the user that a trusted proxy names in the header for that; "" when none is
// named, the header is not in use, or somebody else has sent it, which counts for nothing.
// A proxy that names two users, or one that cannot be, has made a mistake: it is told,
// rather than the token be believed, which may be another's.
func (a *API) userOf(ctx *fasthttp.RequestCtx) (string, *problem) {
	if a.UserHeader == "" || !a.Proxies.Trusts(remoteOf(ctx)) {
		return "", nil
	}
	values := ctx.Request.Header.PeekAll(a.UserHeader)
	if len(values) == 0 {
		return "", nil
	}
	if len(values) > 1 {
		p := invalidRequest(a.UserHeader, detailUserHeaderOnce, a.UserHeader)
		return "", &p
	}
	user := string(values[0])
	if sale.ValidateUserID(user) != nil {
		p := invalidRequest(a.UserHeader, detailUserHeaderInvalid, a.UserHeader)
		return "", &p
	}
	return user, nil
}

// identify says who sent a read; if it cannot, it has answered.
func (a *API) identify(ctx *fasthttp.RequestCtx) (auth.Identity, bool) {
	user, bad := a.userOf(ctx)
	if bad != nil {
		bad.write(ctx)
		return auth.Identity{}, false
	}
	id, err := funnel.Requester{User: user, Token: bearer(ctx)}.Identify(a.Verifier, a.redisTime())
	if err != nil {
		unauthenticated(ctx)
		return auth.Identity{}, false
	}
	return id, true
}
