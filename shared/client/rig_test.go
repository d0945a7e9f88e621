package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/shared/sale"
)

// rig is a client and the gateways it knows, in a bubble with a clock of its own
// and connections that are pipes: HTTP is real, time and network are not. A
// goroutine left behind fails the bubble.
type rig struct {
	t      *testing.T
	client *Client
	began  time.Time

	mu  sync.Mutex
	log []string // of requests: "METHOD path?query [key] [etag]"
	at  []time.Duration
}

// script answers the n-th request, from 0.
type script func(n int, w http.ResponseWriter, r *http.Request)

// play runs test against gateways that share a script; a host named down refuses
// connections.
func play(t *testing.T, config Config, answers script, test func(*rig)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, began: time.Now()}
		if config.BaseURLs == nil {
			config.BaseURLs = []string{"http://one"}
		}
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { answers(r.note(req), w, req) })}
		listener := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		var serving sync.WaitGroup
		serving.Go(func() { _ = server.Serve(listener) })
		transport := &http.Transport{DialContext: listener.dial}
		config.HTTP, config.Token = &http.Client{Transport: transport}, "jwt"
		var err error
		if r.client, err = New(config); err != nil {
			t.Fatal(err)
		}
		test(r)
		transport.CloseIdleConnections()
		_ = server.Close()
		serving.Wait()
	})
}

// note logs a request and numbers it. Only once its body is read does the server
// see that a client has gone.
func (r *rig) note(req *http.Request) int {
	if _, err := io.Copy(io.Discard, req.Body); err != nil {
		r.t.Error(err)
	}
	line := req.Method + " " + req.URL.RequestURI()
	for _, name := range []string{"Idempotency-Key", "If-None-Match"} {
		if value := req.Header.Get(name); value != "" {
			line += " " + value
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log, r.at = append(r.log, line), append(r.at, time.Since(r.began))
	return len(r.log) - 1
}

func (r *rig) buy(key string) (Ticket, error) {
	return r.client.Buy(r.t.Context(), "phone", key)
}

// asked compares the requests with what was expected.
func (r *rig) asked(want ...string) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(r.log, want) {
		r.t.Errorf("requests:\n%q\nwant\n%q", r.log, want)
	}
}

// gaps are the times between requests.
func (r *rig) gaps() []time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	var gaps []time.Duration
	for i := 1; i < len(r.at); i++ {
		gaps = append(gaps, r.at[i]-r.at[i-1])
	}
	return gaps
}

// Requests of the buyer of a phone.
const (
	post = "POST /v1/sales/phone/orders"
	mine = "GET /v1/sales/phone/tickets/me"
	read = "GET /v1/tickets/t1"
)

// hold keeps a request for d, or until its client has gone.
func hold(req *http.Request, d time.Duration) {
	select {
	case <-req.Context().Done():
	case <-time.After(d):
	}
}

// drop breaks the connection without an answer.
func drop(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// status answers with a body, as JSON unless it is a string.
func status(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if text, ok := body.(string); ok {
		fmt.Fprint(w, text)
		return
	}
	_ = json.NewEncoder(w).Encode(body)
}

// refuse answers with a problem.
func refuse(w http.ResponseWriter, code int, name Name, retryAfter string, members map[string]any) {
	body := map[string]any{"type": "/problems/" + string(name), "title": "T", "status": code, "detail": "D"}
	for k, v := range members {
		body[k] = v
	}
	if retryAfter != "" {
		w.Header().Set("Retry-After", retryAfter)
	}
	status(w, code, body)
}

var linked = map[string]any{"my_tickets": "/v1/sales/phone/tickets/me"}

// queued is a ticket made so long ago.
func queued(name string, age time.Duration) Ticket {
	now := time.Now()
	return Ticket{Ticket: name, Sale: "phone", Status: sale.StatusQueued, PollAfterMS: 2000, CreatedAt: now.Add(-age), ServerTime: now}
}

func list(tickets ...Ticket) map[string]any {
	return map[string]any{"tickets": append([]Ticket{}, tickets...)}
}

// pipes is a listener whose connections are in memory.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) dial(ctx context.Context, _, address string) (net.Conn, error) {
	if host, _, _ := net.SplitHostPort(address); host == "down" {
		return nil, fmt.Errorf("%s refuses connections", address)
	}
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }
