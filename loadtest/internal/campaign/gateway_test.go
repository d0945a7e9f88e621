package campaign

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/valyala/fasthttp"

	"sluice/loadtest/internal/stack"
)

// gateway sells units of every sale, and has its tickets confirmed when they are read.
type gateway struct {
	url     string
	asked   atomic.Int64
	stock   atomic.Int64
	attempt func(ctx *fasthttp.RequestCtx) bool // answers instead, if it says so; may be nil
}

func startGateway(t *testing.T, stock int64) *gateway {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gateway{url: "http://" + listener.Addr().String()}
	g.stock.Store(stock)
	server := &fasthttp.Server{Handler: g.serve}
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(listener) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := server.ShutdownWithContext(ctx); err != nil {
			t.Errorf("cannot stop gateway: %v", err)
		}
		if err := <-stopped; err != nil {
			t.Errorf("gateway ended: %v", err)
		}
	})
	return g
}

func (g *gateway) serve(ctx *fasthttp.RequestCtx) {
	if ctx.IsGet() {
		fmt.Fprintf(ctx, `{"ticket":"x","status":"confirmed"}`)
		return
	}
	g.asked.Add(1)
	switch {
	case g.attempt != nil && g.attempt(ctx):
	case bytes.Contains(ctx.Path(), []byte("early")):
		refuse(ctx, "not-open")
	case bytes.Contains(ctx.Path(), []byte("gone")) || g.stock.Add(-1) < 0:
		refuse(ctx, "sold-out")
	default:
		rid := uuid.Must(uuid.NewV7())
		ctx.SetStatusCode(202)
		fmt.Fprintf(ctx, `{"ticket":"%s.mac","status":"queued","poll_after_ms":1}`, base64.RawURLEncoding.EncodeToString(rid[:]))
	}
}

func refuse(ctx *fasthttp.RequestCtx, problem string) {
	ctx.SetStatusCode(409)
	fmt.Fprintf(ctx, `{"type":"/problems/%s"}`, problem)
}

func (g *gateway) target(t *testing.T) Target { return targetOf(t, g.url) }

func targetOf(t *testing.T, url string) Target {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Target{
		Stack:   stack.Info{Gateways: []stack.GatewayInfo{{URL: url}}, Secrets: stack.Secrets{JWTHS256: strings.Repeat("k", 64), JWTIssuer: "i", JWTAudience: "a"}},
		OpensAt: map[string]time.Time{"mix-early": time.Now().Add(time.Hour)}, Program: program,
	}
}
