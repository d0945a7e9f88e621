package httpapi

import (
	"context"
	"log/slog"
	"strconv"
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

// ample are stores that accept every attempt; a reserve call takes latency, so that
// attempts gather behind it.
type ample struct {
	snap    sale.Snapshot
	latency time.Duration
}

func (s *ample) Reserve(_ context.Context, _ string, _ int64, attempts []sale.Attempt) (sale.Snapshot, []sale.Decision, error) {
	time.Sleep(s.latency)
	snap := s.snap
	snap.Now = time.Now() // a clock that stood still would be believed
	decisions := make([]sale.Decision, len(attempts))
	for i, a := range attempts {
		decisions[i] = sale.Decision{Code: sale.DecidedAccepted, InHandOff: true, Ticket: sale.Ticket{
			Reservation: sale.Reservation{RID: a.RID, UserID: a.UserID, Slot: 1, Rank: 1, AcceptedAt: snap.Now}, Status: sale.StatusQueued, UpdatedAt: snap.Now}}
	}
	return snap, decisions, nil
}

func (*ample) HandedOver(context.Context, string, int64, []string) error { return nil }
func (*ample) Publish(context.Context, sale.HandOver) (uint64, error)    { return 1, nil }
func (*ample) NotifySnapshot(sale.Snapshot) error                        { return nil }
func (*ample) Hit(string) error                                          { return nil }

const acceptKey = "a key that is long enough for it"

func acceptingAPI(t testing.TB, latency time.Duration) *API {
	t.Helper()
	now := time.Now()
	snap := sale.Snapshot{SaleID: "phone", Epoch: 1, Version: 2, OpensAt: now.Add(-time.Hour), ClosesAt: now.Add(time.Hour), Now: now, Total: 1 << 40, Stock: 1 << 40}
	sales := catalog.New()
	sales.Apply(sale.Entry{Sale: sale.Sale{ID: "phone", Kind: sale.KindGoods, Mode: sale.ModeQueued, Currency: "CNY", PerUserLimit: 1,
		OpensAt: snap.OpensAt, ClosesAt: snap.ClosesAt}, Epoch: 1, Rev: 1})
	sales.Find("phone").Observe(snap, now, now)
	verifier, err := auth.NewVerifier(auth.VerifierConfig{HS256Keys: [][]byte{[]byte(acceptKey)}, Issuer: "shop", Audience: "sluice", CacheSize: 1000})
	if err != nil {
		t.Fatal(err)
	}
	signer, err := auth.NewTicketSigner([]byte(acceptKey))
	if err != nil {
		t.Fatal(err)
	}
	exits, s, log := funnel.NewExits(prometheus.NewRegistry()), &ample{snap, latency}, slog.New(slog.DiscardHandler)
	f := funnel.New(funnel.Config{PublishTimeout: time.Second, BatchSize: 256, InFlight: 1, LineLength: 4096, TotalLine: 4096},
		funnel.Parts{Stock: s, Queue: s, News: s, Verifier: verifier, Failpoints: s, Exits: exits, Calls: funnel.NewCalls(prometheus.NewRegistry()), Log: log})
	return New(Parts{Catalog: sales, Funnel: f, Exits: exits, Verifier: verifier, Signer: signer, Page: web.New(false), Log: log})
}

func mintToken(t testing.TB, i int) string {
	t.Helper()
	token, err := auth.Mint([]byte(acceptKey), "shop", "sluice", "buyer-"+strconv.Itoa(i), sale.Claims{}, time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// accepted sends one attempt, and takes the answer's memory back as the server does.
func accepted(t testing.TB, api *API, ctx *fasthttp.RequestCtx) {
	api.Handle(ctx)
	if ctx.Response.StatusCode() != fasthttp.StatusAccepted {
		t.Fatalf("status %d: %s", ctx.Response.StatusCode(), ctx.Response.Body())
	}
	ctx.Response.Reset()
}

// What one attempt costs that travels alone: context, timer and goroutine of its reserve
// call and of its hand-over are its own.
// Not parallel: AllocsPerRun counts the whole process.
func TestAttempt_ThatIsAcceptedAllocatesLittle(t *testing.T) {
	const most = 60
	api, ctx := acceptingAPI(t, 0), attemptRequest()
	ctx.Request.Header.Set(fasthttp.HeaderAuthorization, "Bearer "+mintToken(t, 1))
	if n := testing.AllocsPerRun(1000, func() { accepted(t, api, ctx) }); n > most {
		t.Errorf("%v heap allocations", n)
	} else {
		t.Logf("%v heap allocations", n)
	}
}

// BenchmarkAttempt_Accepted is what an accepted attempt costs the gateway between its HTTP
// server and its stores, when many arrive at once.
func BenchmarkAttempt_Accepted(b *testing.B) {
	api := acceptingAPI(b, 500*time.Microsecond)
	b.SetParallelism(128)
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		ctx := attemptRequest()
		ctx.Request.Header.Set(fasthttp.HeaderAuthorization, "Bearer "+mintToken(b, 1))
		for p.Next() {
			accepted(b, api, ctx)
		}
	})
}
