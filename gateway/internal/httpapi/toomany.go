package httpapi

import (
	"strconv"
	"time"

	"github.com/valyala/fasthttp"
	"sluice/shared/sale"
)

// tooMany refuses a client who is over the limit of a layer, which gives the policy
// its name.
func tooMany(ctx *fasthttp.RequestCtx, layer sale.Layer, policy string, retry time.Duration) {
	wait := seconds(retry)
	ctx.Response.Header.Set("RateLimit-Policy", policy)
	ctx.Response.Header.Set("RateLimit", `"`+layer.String()+`";r=0;t=`+strconv.Itoa(wait))
	body := tooManyOfAddress
	if layer == sale.LayerUser {
		body = tooManyOfUser
	}
	body.write(ctx, wait)
}

var (
	tooManyOfAddress = prepare(newProblem(kindTooManyRequests, detailTooManyOfAddress))
	tooManyOfUser    = prepare(newProblem(kindTooManyRequests, detailTooManyOfUser))
)
