package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sluice/shared/devstack"
	"sluice/shared/jetqueue"
	"sluice/shared/openapitest"
	"sluice/shared/pgstore"
	"sluice/shared/redisstock"
	"sluice/shared/sale"
	"sluice/shared/service"
)

// asWorker makes this test binary be the worker: the tests kill it, and it is
// built with the same flags, -race included.
const asWorker = "SLUICE_TEST_AS_WORKER"

func TestMain(m *testing.M) {
	if os.Getenv(asWorker) != "" {
		service.Main("worker", run)
	}
	var err error
	if described, err = openapitest.Load("internal/httpapi/openapi.yaml"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(described.Verdict(devstack.Main(m), os.Stderr))
}

// described is the OpenAPI document that every answer to a buyer is held against.
var described *openapitest.Document

// What tokens are signed with in tests.
const (
	testKey      = "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"
	testIssuer   = "shop"
	testAudience = "sluice"
)

const patience = 30 * time.Second // for what should take milliseconds

var testSales atomic.Int64

// world is one sale, live at epoch 1, in stores of which the stream is the
// test's own: a worker serves every sale of its catalogue.
type world struct {
	t           testing.TB
	redisURL    string
	natsURL     string
	postgresURL string
	store       *pgstore.Store
	stock       *redisstock.Client
	queue       *jetqueue.Queue
	entry       sale.Entry
}

// serverURLs are of servers; without a NATS the world gets one of its own.
type serverURLs struct {
	redis, postgres, nats string
	replicas              int // of the streams; 0 is 1
}

func newWorld(t testing.TB, total int64) *world {
	t.Helper()
	return newWorldOn(t, total, serverURLs{redis: devstack.RedisForTest(t).URL(), postgres: schemaURL(t)})
}

func newWorldOn(t testing.TB, total int64, urls serverURLs) *world {
	t.Helper()
	w := &world{t: t, redisURL: urls.redis, postgresURL: urls.postgres}
	if w.natsURL = urls.nats; w.natsURL == "" {
		w.natsURL = ownServer(t, devstack.StartNATS).URL()
	}
	ctx := w.context()
	var err error
	w.store, err = pgstore.Open(ctx, pgstore.Config{URL: w.postgresURL, StatementTimeout: patience})
	w.must(err)
	t.Cleanup(w.store.Close)
	// Tests ask a hundred times at once: each with a connection of its own, nobody waits for one.
	w.stock, err = redisstock.Open(redisstock.Config{URL: w.redisURL, PoolSize: 100, Timeout: 5 * time.Second})
	w.must(err)
	t.Cleanup(func() { _ = w.stock.Close() })
	w.queue, err = jetqueue.Connect(ctx, jetqueue.Config{URL: w.natsURL, Name: t.Name(), Log: slog.New(slog.DiscardHandler)})
	w.must(err)
	t.Cleanup(w.queue.Close)
	w.must(w.queue.Ensure(ctx, jetqueue.StreamConfig{MaxBytes: 256 << 20, MaxMessagesPerSale: 100_000, Replicas: max(urls.replicas, 1)}))
	_, err = w.store.Migrate(ctx)
	w.must(err)
	w.load(ctx, total)
	return w
}

// load makes the sale live, as a warm-up does.
func (w *world) load(ctx context.Context, total int64) {
	w.t.Helper()
	id := fmt.Sprintf("sale-%d-%d", os.Getpid(), testSales.Add(1))
	now := time.Now()
	w.loadSale(ctx, pgstore.Catalogue{Sales: []pgstore.SaleConfig{{Sale: sale.Sale{
		ID: id, Kind: sale.KindGoods, Title: "Phone", SKU: "PHONE-1", Total: total, PriceMinor: 199900, Currency: "CNY",
		PerUserLimit: 1, OpensAt: now.Add(-time.Hour), ClosesAt: now.Add(time.Hour), Hold: 15 * time.Minute,
		Mode: sale.ModeQueued, RebuyAfterRelease: true, Weight: 1,
	}}}})
}

// loadSale makes the first sale of a catalogue the world's, live.
func (w *world) loadSale(ctx context.Context, catalogue pgstore.Catalogue) {
	w.t.Helper()
	id, total := catalogue.Sales[0].ID, catalogue.Sales[0].Total
	_, err := w.store.Apply(ctx, catalogue)
	w.must(err)
	loading, err := w.store.BeginLoad(ctx, id, 0)
	w.must(err)
	const token = "token"
	w.must(w.stock.Fence(ctx, id, loading.Epoch, token))
	w.must(w.stock.Flip(ctx, token, redisstock.Live{Entry: loading, Total: total, Stock: total}))
	w.entry, err = w.store.FinishLoad(ctx, id, loading.Epoch)
	w.must(err)
	_, err = w.queue.PutEntry(ctx, w.entry)
	w.must(err)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) context() context.Context {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.t.Context()), patience)
	w.t.Cleanup(cancel)
	return ctx
}

// schemaURL makes an empty schema and returns a URL whose connections live in it.
func schemaURL(t testing.TB) string {
	t.Helper()
	server := devstack.PostgresForTest(t).URL()
	schema := "t" + strings.ReplaceAll(uuid.NewString(), "-", "")
	execSQL(t, server, `CREATE SCHEMA `+schema)
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set("search_path", schema)
	u.RawQuery = query.Encode()
	return u.String()
}

func execSQL(t testing.TB, url, sql string, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// ownServer starts a server for this test alone.
func ownServer(t testing.TB, start func(context.Context, devstack.Options) (*devstack.Server, error)) *devstack.Server {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real server, and -short is set")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	server, err := start(ctx, devstack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// reserve takes n units for n new buyers.
func (w *world) reserve(n int) []sale.Reservation {
	w.t.Helper()
	attempts := make([]sale.Attempt, n)
	for i := range attempts {
		attempts[i] = newAttempt()
	}
	_, decisions, err := w.stock.Reserve(w.context(), w.entry.ID, w.entry.Epoch, attempts)
	w.must(err)
	reservations := make([]sale.Reservation, n)
	for i, d := range decisions {
		if d.Code != sale.DecidedAccepted {
			w.t.Fatalf("attempt %d was decided %d", i, d.Code)
		}
		reservations[i] = d.Ticket.Reservation
	}
	return reservations
}

// newAttempt is a new buyer's.
func newAttempt() sale.Attempt {
	return sale.Attempt{RID: uuid.Must(uuid.NewV7()).String(), UserID: "user-" + uuid.NewString()}
}

func (w *world) handOver(reservations []sale.Reservation) {
	w.t.Helper()
	_, err := w.queue.Publish(w.context(), sale.HandOver{
		SaleID: w.entry.ID, Epoch: w.entry.Epoch, PriceMinor: w.entry.PriceMinor, Currency: w.entry.Currency, Reservations: reservations,
	})
	w.must(err)
}

// process is a worker in a process of its own.
type process struct {
	*devstack.Process
	log *logBuffer
}

// startWorker starts a worker on the world's stores. failpoints may be "".
func (w *world) startWorker(failpoints string, flags ...string) *process {
	w.t.Helper()
	args := append([]string{
		"-redis-url", w.redisURL, "-nats-url", w.natsURL, "-postgres-url", w.postgresURL,
		"-listen", "127.0.0.1:0", "-ops-listen", "127.0.0.1:0", "-drain", "0s",
		"-jwt-hs256", testKey, "-jwt-issuer", testIssuer, "-jwt-audience", testAudience,
		"-redis-timeout", "2s", "-ack-wait", "1s",
	}, flags...)
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asWorker+"=1", "SLUICE_FAILPOINTS="+failpoints)
	p := &process{log: &logBuffer{}}
	cmd.Stdout, cmd.Stderr = p.log, p.log
	var err error
	p.Process, err = devstack.StartProcess(cmd, syscall.SIGKILL)
	w.must(err)
	w.t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			w.t.Error(err)
		}
		if w.t.Failed() {
			w.t.Logf("worker %d, %s:\n%s", p.PID(), p.Status(), p.log)
		}
	})
	return p
}

// stopped ends the worker gracefully, which must succeed.
func (w *world) stopped(p *process) {
	w.t.Helper()
	w.must(p.Stop(syscall.SIGTERM, patience))
	if p.Status() != "exit status 0" {
		w.t.Fatalf("the worker ended with %s", p.Status())
	}
}

type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (w *world) eventually(what string, ok func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); !ok(); {
		if time.Now().After(deadline) {
			w.t.Fatalf("not within %v: %s", patience, what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// eventuallyAll waits until every ticket has the status.
func (w *world) eventuallyAll(status sale.Status, reservations []sale.Reservation) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%d tickets are %s", len(reservations), status), func() bool {
		return len(reservations) == w.countTickets(reservations)[status]
	})
}

// eventuallyAcknowledged waits until every hand-over of the sale is.
func (w *world) eventuallyAcknowledged() {
	w.t.Helper()
	conn, err := nats.Connect(w.natsURL)
	w.must(err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	w.must(err)
	w.eventually("every hand-over is acknowledged", func() bool {
		consumer, err := js.Consumer(w.context(), jetqueue.StreamName, w.entry.ID)
		if err != nil {
			return false
		}
		info := consumer.CachedInfo()
		return info.NumPending == 0 && info.NumAckPending == 0
	})
}

// countTickets counts by status, at the epoch that Postgres says; an unreadable Redis counts nothing.
func (w *world) countTickets(reservations []sale.Reservation) map[sale.Status]int {
	rids := make([]string, len(reservations))
	for i, r := range reservations {
		rids[i] = r.RID
	}
	_, tickets, err := w.stock.Tickets(w.context(), w.entry.ID, w.epoch(), rids)
	counts := map[sale.Status]int{}
	for _, t := range tickets {
		if err == nil && t != nil {
			counts[t.Status]++
		}
	}
	return counts
}

// epoch is the sale's, as Postgres has it: a worker rebuilds what a restarted Redis may have lost.
func (w *world) epoch() (epoch int64) {
	w.t.Helper()
	w.eventually("the sale is read", func() bool { // the pool may have connections to a server that was killed
		now, err := w.store.Entry(w.context(), w.entry.ID)
		epoch = now.Epoch
		return err == nil
	})
	return epoch
}

// orders are the sale's rows.
func (w *world) orders() pgstore.LoadState {
	w.t.Helper()
	var state pgstore.LoadState
	w.eventually("the rows are read", func() (ok bool) { // the pool may have connections to a server that was killed
		var err error
		state, err = w.store.LoadState(w.context(), w.entry.ID)
		return err == nil
	})
	return state
}

// wantOneOrderEach checks that the reservations, and nobody else, hold a unit
// each, in Postgres and in Redis.
func (w *world) wantOneOrderEach(reservations []sale.Reservation) {
	w.t.Helper()
	state := w.orders()
	want := make([]string, len(reservations))
	for i, r := range reservations {
		want[i] = r.RID
	}
	var got []string
	for _, o := range state.Orders {
		if o.HoldsUnit {
			got = append(got, o.RID)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		w.t.Errorf("%d orders hold a unit, want exactly the %d reserved", len(got), len(want))
	}
	if state.Held != int64(len(want)) {
		w.t.Errorf("Postgres counts %d units held, want %d", state.Held, len(want))
	}
	snapshot, handOff, err := w.stock.Snapshot(w.context(), w.entry.ID, w.epoch())
	w.must(err)
	if snapshot.Stock != state.Total-state.Held || snapshot.Served != int64(len(want)) || handOff.Count != 0 {
		w.t.Errorf("Redis has stock %d, served %d, %d in handoff; want %d, %d, 0",
			snapshot.Stock, snapshot.Served, handOff.Count, state.Total-state.Held, len(want))
	}
}
