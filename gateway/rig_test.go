package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/shared/auth"
	"sluice/shared/devstack"
	"sluice/shared/jetqueue"
	"sluice/shared/openapitest"
	"sluice/shared/redisstock"
	"sluice/shared/sale"
)

// described is the OpenAPI document that every answer of every gateway is held against.
var described *openapitest.Document

func TestMain(m *testing.M) {
	var err error
	if described, err = openapitest.Load("internal/httpapi/openapi.yaml"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(described.Verdict(devstack.Main(m), os.Stderr))
}

const (
	jwtKey   = "a secret of at least thirty-two bytes"
	patience = 30 * time.Second // for what should take milliseconds
)

// stores are the real servers that gateways of a test run against.
type stores struct {
	redisURL, natsURL string
	stock             *redisstock.Client
	queue             *jetqueue.Queue
	env               map[string]string // of its gateways
	ahead             time.Duration     // of their clocks
}

func sharedStores(t *testing.T) *stores {
	t.Helper()
	return connectStores(t, devstack.RedisForTest(t).URL(), devstack.NATSForTest(t).URL())
}

func connectStores(t *testing.T, redisURL, natsURL string) *stores {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stock, err := redisstock.Open(redisstock.Config{URL: redisURL, Timeout: 5 * time.Second})
	must(t, err)
	t.Cleanup(func() { _ = stock.Close() })
	queue, err := jetqueue.Connect(ctx, jetqueue.Config{URL: natsURL, Name: "test", Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	t.Cleanup(queue.Close)
	must(t, queue.Ensure(ctx, jetqueue.StreamConfig{MaxBytes: 64 << 20, MaxMessagesPerSale: 10000, Replicas: 1}))
	return &stores{redisURL: redisURL, natsURL: natsURL, stock: stock, queue: queue}
}

// connectOwnStores starts servers that no other test uses.
func connectOwnStores(t *testing.T) *stores {
	t.Helper()
	redis, nats := startOwn(t)
	return connectStores(t, redis.URL(), nats.URL())
}

func startOwn(t *testing.T) (redis, nats *devstack.Server) {
	t.Helper()
	redis, err := devstack.StartRedis(t.Context(), devstack.Options{})
	must(t, err)
	t.Cleanup(func() { _ = redis.Close() })
	nats, err = devstack.StartNATS(t.Context(), devstack.Options{})
	must(t, err)
	t.Cleanup(func() { _ = nats.Close() })
	return redis, nats
}

var sales atomic.Int64

// newSale is open now and has the given stock.
func newSale(total int64, change ...func(*sale.Sale)) sale.Entry {
	s := sale.Sale{
		ID: fmt.Sprintf("sale-%d-%d", os.Getpid(), sales.Add(1)), Kind: sale.KindGoods, Title: "Phone", SKU: "PHONE-1", Total: total,
		PriceMinor: 199900, Currency: "CNY", PerUserLimit: 1, OpensAt: time.Now().Add(-time.Hour).UTC(), ClosesAt: time.Now().Add(time.Hour).UTC(),
		Hold: 15 * time.Minute, Mode: sale.ModeQueued, RebuyAfterRelease: true, Weight: 1,
	}
	for _, c := range change {
		c(&s)
	}
	return sale.Entry{Sale: s, Epoch: 1, Rev: 1}
}

// load makes e live in Redis; allow fills its allow list.
func (s *stores) load(t *testing.T, e sale.Entry, allow ...string) {
	t.Helper()
	ctx := t.Context()
	must(t, s.stock.Fence(ctx, e.ID, e.Epoch, "token"))
	if len(allow) > 0 {
		must(t, s.stock.LoadAllow(ctx, e.ID, e.Epoch, "token", allow))
	}
	must(t, s.stock.Flip(ctx, "token", redisstock.Live{Entry: e, Total: e.Total, Stock: e.Total}))
}

func (s *stores) announce(t *testing.T, e sale.Entry) {
	t.Helper()
	_, err := s.queue.PutEntry(t.Context(), e)
	must(t, err)
}

// sell loads and announces a new sale.
func (s *stores) sell(t *testing.T, total int64, change ...func(*sale.Sale)) sale.Entry {
	t.Helper()
	e := newSale(total, change...)
	s.load(t, e)
	s.announce(t, e)
	return e
}

// running is one running gateway.
type running struct {
	t        *testing.T
	url, ops string
	stop     context.CancelFunc
	done     chan error
}

// start runs a gateway and waits until its ops listener answers.
func (s *stores) start(t *testing.T, extra ...string) *running {
	t.Helper()
	public, err := devstack.ReservePort()
	must(t, err)
	ops, err := devstack.ReservePort()
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	g := &running{t: t, url: "http://" + public.Addr(), ops: "http://" + ops.Addr(), stop: cancel, done: make(chan error, 1)}
	args := append([]string{"-listen", public.Addr(), "-ops-listen", ops.Addr(), "-redis-url", s.redisURL, "-nats-url", s.natsURL,
		"-jwt-hs256", jwtKey, "-jwt-issuer", "shop", "-jwt-audience", "sluice", "-ticket-key", jwtKey, "-drain", "0s", "-address-rate", "0", "-user-rate", "0", "-max-connections-per-address", "0"}, extra...)
	log := &lockedBuffer{}
	go func() {
		g.done <- runAt(ctx, args, func(name string) string { return s.env[name] }, log, clockAhead(s.ahead))
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-g.done; err != nil {
			t.Errorf("gateway ended: %v", err)
		}
		if t.Failed() {
			t.Logf("gateway's log:\n%s", log)
		}
		_ = public.Release()
		_ = ops.Release()
	})
	g.until("ops listener", func() bool { _, err := http.Get(g.ops + "/livez"); return err == nil })
	return g
}

// clockAhead is a clock that is set wrong.
func clockAhead(by time.Duration) func() time.Time {
	return func() time.Time { return time.Now().Add(by) }
}

func (s *stores) startReady(t *testing.T, extra ...string) *running {
	t.Helper()
	g := s.start(t, extra...)
	g.until("ready", func() bool { code, _ := g.opsGet("/readyz"); return code == http.StatusOK })
	return g
}

func (g *running) until(what string, holds func() bool) {
	g.t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			g.t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// untilWarm waits until the gateway knows the sale.
func (g *running) untilWarm(saleID string) {
	g.t.Helper()
	g.until("warm "+saleID, func() bool { code, _ := g.opsGet("/readyz/sales/" + saleID); return code == http.StatusOK })
}

func (g *running) opsGet(path string) (int, string) {
	g.t.Helper()
	res, err := http.Get(g.ops + path)
	must(g.t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	must(g.t, err)
	return res.StatusCode, string(body)
}

// answer is a response with its body decoded as JSON.
type answer struct {
	status int
	header http.Header
	body   map[string]any
	raw    string
	last   bool // on its connection; only target.answers says so
}

func (a answer) text(member string) string { s, _ := a.body[member].(string); return s }

func (g *running) do(method, path, user string, change ...func(*http.Request)) answer {
	g.t.Helper()
	req, err := http.NewRequest(method, g.url+path, nil)
	must(g.t, err)
	if user != "" {
		req.Header.Set("Authorization", "Bearer "+token(g.t, user, sale.Claims{}))
	}
	for _, c := range change {
		c(req)
	}
	res, err := http.DefaultClient.Do(req)
	must(g.t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	must(g.t, err)
	return g.checked(method, path, res, raw)
}

// checked holds an answer against the document. The target is "" when what was sent
// is not a request.
func (g *running) checked(method, target string, res *http.Response, raw []byte) answer {
	g.t.Helper()
	if err := described.Check(openapitest.Exchange{Method: method, Target: target, Status: res.StatusCode, Header: res.Header, Body: raw}); err != nil {
		g.t.Error(err)
	}
	a := answer{status: res.StatusCode, header: res.Header, raw: string(raw)}
	if strings.HasSuffix(res.Header.Get("Content-Type"), "json") && len(raw) > 0 {
		if err := json.Unmarshal(raw, &a.body); err != nil {
			g.t.Fatalf("%s %s answers %d with a body that is not JSON: %s", method, target, res.StatusCode, raw)
		}
	}
	return a
}

func (g *running) attempt(saleID, user string, change ...func(*http.Request)) answer {
	g.t.Helper()
	return g.do(http.MethodPost, "/v1/sales/"+saleID+"/orders", user, change...)
}

// expect fails unless the answer is this problem.
func (g *running) expect(a answer, status int, problem string) {
	g.t.Helper()
	if a.status != status || a.text("type") != "/problems/"+problem || a.header.Get("Content-Type") != "application/problem+json" {
		g.t.Errorf("got %d %s, want %d %s", a.status, a.raw, status, problem)
	}
}

func (g *running) expectStatus(a answer, status int) {
	g.t.Helper()
	if a.status != status {
		g.t.Fatalf("got %d %s, want %d", a.status, a.raw, status)
	}
}

func token(t *testing.T, user string, c sale.Claims) string {
	t.Helper()
	jwt, err := auth.Mint([]byte(jwtKey), "shop", "sluice", user, c, time.Now(), time.Hour)
	must(t, err)
	return jwt
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Add(name, value) }
}

func body(text string) func(*http.Request) {
	return func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	}
}

func claims(t *testing.T, user string, c sale.Claims) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token(t, user, c)) }
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
