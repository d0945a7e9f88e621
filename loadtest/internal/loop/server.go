package loop

import (
	"time"

	"github.com/valyala/fasthttp"
)

// maxConcurrent requests, more than any load here has connections.
const maxConcurrent = 20_000

// NewServer has the settings of a gateway's server, for what is measured beside one. It has
// none of its hooks: a gateway watches how slowly a connection sends, and words its own
// refusals of what is no request.
func NewServer(handler fasthttp.RequestHandler) *fasthttp.Server {
	const limit = 8 << 10 // bytes
	return &fasthttp.Server{
		Handler: handler, Name: "sluice",
		ReadTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: 60 * time.Second,
		MaxRequestBodySize: limit, ReadBufferSize: limit, Concurrency: maxConcurrent,
		NoDefaultServerHeader: true, NoDefaultDate: true, NoDefaultContentType: true,
		DisablePreParseMultipartForm: true, CloseOnShutdown: true,
	}
}
