package httpapi

import (
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	maxBody    = 8 << 10 // bytes; an attempt has none
	maxHeaders = 8 << 10 // bytes
)

// NewServer wraps the API in a fasthttp server that bounds what one client can
// cost: sizes, times and the number of connections.
func NewServer(a *API, maxConnections int) *fasthttp.Server {
	return &fasthttp.Server{
		Handler:               a.Handle,
		ErrorHandler:          badRequest,
		Name:                  "sluice",
		ReadTimeout:           5 * time.Second,
		WriteTimeout:          10 * time.Second,
		IdleTimeout:           60 * time.Second,
		MaxRequestBodySize:    maxBody,
		ReadBufferSize:        maxHeaders,
		Concurrency:           maxConnections,
		NoDefaultServerHeader: true,
		NoDefaultDate:         true,
		NoDefaultContentType:  true,
		CloseOnShutdown:       true,
		Logger:                silent{a.Log},

		DisablePreParseMultipartForm: true, // a body is bytes, whatever it says it is
	}
}

// badRequest answers what fasthttp could not read as a request.
func badRequest(ctx *fasthttp.RequestCtx, err error) {
	ctx.SetConnectionClose()
	var small *fasthttp.ErrSmallBuffer
	var slow net.Error
	switch {
	case errors.Is(err, fasthttp.ErrBodyTooLarge), errors.As(err, &small):
		newProblem(kindTooLarge, detailTooLarge).write(ctx)
	case errors.As(err, &slow) && slow.Timeout():
		newProblem(kindRequestTimeout, detailTimeout).write(ctx)
	default:
		invalidRequest("", detailMalformed).write(ctx)
	}
}

// silent keeps fasthttp's line per broken request out of the log.
type silent struct{ log *slog.Logger }

func (s silent) Printf(format string, _ ...any) { s.log.Debug("http server", "message", format) }
