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
	serverName = "sluice"

	readTimeout  = 5 * time.Second  // of a request, from its first byte; of a new connection's first, from the start
	writeTimeout = 10 * time.Second // of an answer, from when it is ready; a stream sets its own
	idleTimeout  = 60 * time.Second // until the next request
)

// NewServer wraps the API in a fasthttp server that bounds what one client can
// cost: sizes and times. Who gets a connection at all is for the listener to say;
// the server takes twice as many as there are places, because it goes on counting one
// for a moment after it is closed, and what it refuses itself it refuses in plain text.
func NewServer(a *API, maxConnections int) *fasthttp.Server {
	return &fasthttp.Server{
		Handler:               a.answering,
		ConnState:             awaiting,
		ErrorHandler:          badRequest,
		Name:                  serverName,
		ReadTimeout:           readTimeout,
		WriteTimeout:          writeTimeout,
		IdleTimeout:           idleTimeout,
		MaxRequestBodySize:    maxBody,
		ReadBufferSize:        maxHeaders,
		Concurrency:           2 * maxConnections,
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
