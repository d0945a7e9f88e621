package httpapi

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"
	"sluice/gateway/internal/catalog"
	"sluice/gateway/internal/funnel"
	"sluice/gateway/internal/web"
	"sluice/shared/auth"
	"sluice/shared/sale"
)

// stores count every call that would leave the process.
type stores struct{ calls atomic.Int64 }

func (s *stores) Reserve(context.Context, string, int64, []sale.Attempt) (sale.Snapshot, []sale.Decision, error) {
	s.calls.Add(1)
	return sale.Snapshot{}, nil, sale.ErrStale
}

func (s *stores) HandedOver(context.Context, string, int64, []string) error {
	s.calls.Add(1)
	return sale.ErrStale
}

func (s *stores) Publish(context.Context, sale.HandOver) (uint64, error) {
	s.calls.Add(1)
	return 0, sale.ErrStale
}

func (s *stores) NotifySnapshot(sale.Snapshot) error {
	s.calls.Add(1)
	return nil
}

func (s *stores) Verify(string, time.Time) (auth.Identity, error) {
	s.calls.Add(1)
	return auth.Identity{}, auth.ErrToken
}

func (s *stores) Hit(string) error { return nil }

func soldOutAPI(s *stores) *API {
	now := time.Now()
	sales := catalog.New()
	sales.Apply(sale.Entry{Sale: sale.Sale{ID: "phone", Kind: sale.KindGoods, Mode: sale.ModeQueued, Currency: "CNY", PerUserLimit: 1,
		OpensAt: now.Add(-time.Hour), ClosesAt: now.Add(time.Hour)}, Epoch: 1, Rev: 1})
	sales.Find("phone").Observe(sale.Snapshot{SaleID: "phone", Epoch: 1, Version: 2, SoldOut: true, OpensAt: now.Add(-time.Hour),
		ClosesAt: now.Add(time.Hour), Now: now, Total: 1, Unpaid: 1}, now, now)
	exits := funnel.NewExits(prometheus.NewRegistry())
	log := slog.New(slog.DiscardHandler)
	f := funnel.New(funnel.Config{PublishTimeout: time.Second, BatchSize: 256, InFlight: 1, LineLength: 10, TotalLine: 10},
		funnel.Parts{Stock: s, Queue: s, News: s, Verifier: s, Failpoints: s, Exits: exits, Calls: funnel.NewCalls(prometheus.NewRegistry()), Log: log})
	return New(Parts{Catalog: sales, Funnel: f, Exits: exits, Verifier: s, Page: web.New(false), Log: log})
}

func attemptRequest() *fasthttp.RequestCtx {
	var ctx fasthttp.RequestCtx
	ctx.Request.Header.SetMethod(fasthttp.MethodPost)
	ctx.Request.SetRequestURI("/v1/sales/phone/orders")
	ctx.Request.Header.Set(fasthttp.HeaderAuthorization, "Bearer token")
	return &ctx
}

func TestAttempt_OnASoldOutSaleLeavesTheProcessNever(t *testing.T) {
	t.Parallel()
	var s stores
	api := soldOutAPI(&s)
	ctx := attemptRequest()
	for range 1000 {
		api.Handle(ctx)
		if ctx.Response.StatusCode() != fasthttp.StatusConflict {
			t.Fatalf("status %d: %s", ctx.Response.StatusCode(), ctx.Response.Body())
		}
	}
	if n := s.calls.Load(); n != 0 {
		t.Errorf("%d calls of stores or token checks", n)
	}
	const want = `{"type":"/problems/sold-out","title":"Sold out","status":409,"detail":"No unit is left. If you had an earlier attempt, my_tickets says what became of it.","may_return":true,"my_tickets":"/v1/sales/phone/tickets/me"}`
	if got := string(ctx.Response.Body()); got != want {
		t.Errorf("body %s", got)
	}
}

// Not parallel: AllocsPerRun counts the whole process.
func TestAttempt_OnASoldOutSaleAllocatesAtMostTwice(t *testing.T) {
	var s stores
	api := soldOutAPI(&s)
	ctx := attemptRequest()
	if n := testing.AllocsPerRun(1000, func() { api.Handle(ctx) }); n > 2 {
		t.Errorf("%v heap allocations", n)
	} else {
		t.Logf("%v heap allocations", n)
	}
}

func BenchmarkAttempt_SoldOut(b *testing.B) {
	var s stores
	api := soldOutAPI(&s)
	ctx := attemptRequest()
	b.ReportAllocs()
	for b.Loop() {
		api.Handle(ctx)
	}
}

func BenchmarkSales(b *testing.B) {
	var s stores
	api := soldOutAPI(&s)
	var ctx fasthttp.RequestCtx
	ctx.Request.SetRequestURI("/v1/sales")
	b.ReportAllocs()
	for b.Loop() {
		if api.Handle(&ctx); ctx.Response.StatusCode() != fasthttp.StatusOK {
			b.Fatalf("status %d: %s", ctx.Response.StatusCode(), ctx.Response.Body())
		}
	}
}
