package compare

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
	"sluice/loadtest/internal/loop"
	"sluice/shared/auth"
	"sluice/shared/sale"
)

const (
	// deciding bounds one attempt: what waits longer is answered 503.
	deciding = 10 * time.Second
	// enteredPath is where an instance tells how many attempts it has decided.
	enteredPath = "/entered"
)

// decider decides attempts, each by itself.
type decider interface {
	// decide returns Confirmed, Accepted, Replay or SoldOut; everything else is a fault.
	decide(ctx context.Context, saleID, userID string) (sale.Outcome, error)
	close()
}

// instance is one server of a baseline that sells goods: the HTTP library, its settings
// and the check of tokens are those of Sluice's gateways.
type instance struct {
	decider
	tokens  *auth.Verifier
	server  *fasthttp.Server
	serving chan error
	entered atomic.Int64
}

func startInstance(listener net.Listener, d decider, tokens *auth.Verifier) *instance {
	i := &instance{decider: d, tokens: tokens, serving: make(chan error, 1)}
	i.server = loop.NewServer(i.handle)
	go func() { i.serving <- i.server.Serve(listener) }()
	return i
}

// stop lets attempts under way end first.
func (i *instance) stop(ctx context.Context) error {
	defer i.close()
	if err := i.server.ShutdownWithContext(ctx); err != nil {
		return fmt.Errorf("cannot stop instance: %w", err)
	}
	if err := <-i.serving; err != nil {
		return fmt.Errorf("instance ended: %w", err)
	}
	return nil
}

// handle answers an attempt.
func (i *instance) handle(ctx *fasthttp.RequestCtx) {
	path := string(ctx.Path())
	if path == enteredPath {
		ctx.SetBodyString(strconv.FormatInt(i.entered.Load(), 10))
		return
	}
	saleID := strings.TrimSuffix(strings.TrimPrefix(path, "/v1/sales/"), "/orders")
	buyer, err := i.tokens.Verify(auth.Bearer(string(ctx.Request.Header.Peek(fasthttp.HeaderAuthorization))), time.Now())
	if err != nil {
		answer(ctx, http.StatusUnauthorized, `{"type":"/problems/unauthenticated","status":401}`)
		return
	}
	i.entered.Add(1)
	deadline, cancel := context.WithTimeout(context.Background(), deciding) // ctx is reused
	defer cancel()
	outcome, err := i.decide(deadline, saleID, buyer.UserID)
	switch {
	case err != nil:
		answer(ctx, http.StatusServiceUnavailable, `{"type":"/problems/unavailable","status":503}`)
	case outcome == sale.Confirmed:
		answer(ctx, http.StatusCreated, `{"status":"confirmed"}`)
	case outcome == sale.Accepted:
		answer(ctx, http.StatusAccepted, `{"status":"queued"}`)
	case outcome == sale.Replay:
		answer(ctx, http.StatusOK, `{"status":"confirmed"}`)
	default:
		answer(ctx, http.StatusConflict, `{"type":"/problems/sold-out","status":409}`)
	}
}
