package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"sluice/loadtest/internal/collect"
	"sluice/shared/devstack"
	"sluice/shared/jetqueue"
	"sluice/shared/pgstore"
	"sluice/shared/redisstock"
	"sluice/shared/sale"
)

func TestMain(m *testing.M) { os.Exit(devstack.Main(m)) }

const testPatience = 30 * time.Second // for what should take milliseconds

// soldSale is a sale of three units on real stores, two of them sold to ann and
// bob and the third still there: every store agrees.
type soldSale struct {
	id    string
	urls  collect.URLs
	rids  []string // of ann and bob
	db    *pgx.Conn
	redis *redis.Client
	stock *redisstock.Client
	truth *pgstore.Store
}

// sell makes a soldSale in a schema of its own.
func sell(t *testing.T) *soldSale {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testPatience)
	defer cancel()
	s := &soldSale{
		id:   "sale-" + uuid.NewString()[:13],
		urls: collect.URLs{Redis: devstack.RedisForTest(t).URL(), NATS: devstack.NATSForTest(t).URL(), Postgres: schema(t)},
	}
	stores, err := collect.Open(ctx, s.urls, slog.New(slog.DiscardHandler))
	must(t, err)
	defer func() { must(t, stores.Close()) }()
	s.connect(ctx, t)
	entry := s.load(ctx, t, stores)
	s.sellTo(ctx, t, stores, entry, "ann", "bob")
	return s
}

func (s *soldSale) connect(ctx context.Context, t *testing.T) {
	t.Helper()
	var err error
	s.db, err = pgx.Connect(ctx, s.urls.Postgres)
	must(t, err)
	t.Cleanup(func() { must(t, s.db.Close(context.WithoutCancel(t.Context()))) })
	options, err := redis.ParseURL(s.urls.Redis)
	must(t, err)
	s.redis = redis.NewClient(options)
	t.Cleanup(func() { must(t, s.redis.Close()) })
	s.stock, err = redisstock.Open(redisstock.Config{URL: s.urls.Redis})
	must(t, err)
	t.Cleanup(func() { must(t, s.stock.Close()) })
	s.truth, err = pgstore.Open(ctx, pgstore.Config{URL: s.urls.Postgres, MaxConns: 1})
	must(t, err)
	t.Cleanup(s.truth.Close)
}

// load brings the sale live, as warmup does.
func (s *soldSale) load(ctx context.Context, t *testing.T, stores *collect.Stores) sale.Entry {
	t.Helper()
	_, err := stores.Postgres.Migrate(ctx)
	must(t, err)
	must(t, stores.Queue.Ensure(ctx, jetqueue.StreamConfig{MaxBytes: 64 << 20, MaxMessagesPerSale: 1000, Replicas: 1}))
	now := time.Now().Truncate(time.Millisecond)
	_, err = stores.Postgres.Apply(ctx, pgstore.Catalogue{Sales: []pgstore.SaleConfig{{Sale: sale.Sale{
		ID: s.id, Kind: sale.KindGoods, Title: "Phone", SKU: "PHONE-1", Total: 3, PriceMinor: 100, Currency: "CNY", PerUserLimit: 1,
		OpensAt: now.Add(-time.Minute), ClosesAt: now.Add(time.Hour), Hold: 15 * time.Minute, Mode: sale.ModeQueued, Weight: 1,
	}}}})
	must(t, err)
	entry, err := stores.Postgres.BeginLoad(ctx, s.id, 0)
	must(t, err)
	must(t, s.stock.Fence(ctx, s.id, entry.Epoch, "token"))
	must(t, s.stock.Flip(ctx, "token", redisstock.Live{Entry: entry, Total: 3, Stock: 3}))
	entry, err = stores.Postgres.FinishLoad(ctx, s.id, entry.Epoch)
	must(t, err)
	return entry
}

// sellTo takes attempts all the way from reserve to settle.
func (s *soldSale) sellTo(ctx context.Context, t *testing.T, stores *collect.Stores, entry sale.Entry, users ...string) {
	t.Helper()
	reservations := s.reserve(ctx, t, entry.Epoch, users...)
	_, err := stores.Queue.Publish(ctx, sale.HandOver{SaleID: s.id, Epoch: entry.Epoch, PriceMinor: 100, Currency: "CNY", Reservations: reservations})
	must(t, err)
	result, err := stores.Postgres.Order(ctx, pgstore.Batch{SaleID: s.id, Epoch: entry.Epoch, PriceMinor: 100, Currency: "CNY", Reservations: reservations})
	must(t, err)
	settlements := make([]sale.Settlement, len(result.Verdicts))
	for i, v := range result.Verdicts {
		s.rids = append(s.rids, v.RID)
		settlements[i] = sale.Settlement{RID: v.RID, Status: v.State.TicketStatus(), PayBy: v.PayBy}
	}
	_, _, err = s.stock.Settle(ctx, s.id, entry.Epoch, settlements)
	must(t, err)
}

// reserve takes a unit for each user and leaves it in handoff.
func (s *soldSale) reserve(ctx context.Context, t *testing.T, epoch int64, users ...string) []sale.Reservation {
	t.Helper()
	attempts := make([]sale.Attempt, len(users))
	for i, user := range users {
		attempts[i] = sale.Attempt{RID: uuid.Must(uuid.NewV7()).String(), UserID: user}
	}
	_, decisions, err := s.stock.Reserve(ctx, s.id, epoch, attempts)
	must(t, err)
	reservations := make([]sale.Reservation, len(decisions))
	for i, d := range decisions {
		if d.Code != sale.DecidedAccepted {
			t.Fatalf("attempt of %s: %+v", users[i], d)
		}
		reservations[i] = d.Ticket.Reservation
	}
	return reservations
}

// expire lets a pending order go, all the way to its ticket.
func (s *soldSale) expire(t *testing.T, rid string) {
	t.Helper()
	s.exec(t, `UPDATE orders SET expires_at = now() - interval '1 minute' WHERE id = $1`, rid)
	_, err := s.truth.Expire(t.Context(), s.id, 1)
	must(t, err)
	releases, err := s.truth.UnappliedReleases(t.Context(), 1, nil)
	must(t, err)
	_, _, err = s.stock.Release(t.Context(), s.id, releases[0].Epoch, []sale.Release{releases[0].Release})
	must(t, err)
	_, err = s.truth.MarkApplied(t.Context(), []string{rid})
	must(t, err)
}

// pay pays for a pending order by event e1 and shows it.
func (s *soldSale) pay(t *testing.T, rid string) {
	t.Helper()
	s.apply(t, "e1", rid)
	_, _, err := s.stock.Settle(t.Context(), s.id, 1, []sale.Settlement{{RID: rid, Status: sale.StatusPaid}})
	must(t, err)
	must(t, s.truth.MarkShown(t.Context(), []string{rid}, sale.OrderPaid))
}

// owe pays for a paid order once more, by event e2, and then changes what is owed for it.
func (s *soldSale) owe(t *testing.T, rid, change string) {
	t.Helper()
	s.apply(t, "e2", rid)
	s.exec(t, change)
}

func (s *soldSale) apply(t *testing.T, eventID, rid string) {
	t.Helper()
	_, err := s.truth.StorePayments(t.Context(), []sale.PaymentEvent{{
		EventID: eventID, Type: sale.PaymentSucceeded, OrderID: rid, AmountMinor: 100, Currency: "CNY", OccurredAt: time.Now(),
	}})
	must(t, err)
	_, err = s.truth.ApplyPayment(t.Context(), eventID, nil)
	must(t, err)
}

// setMeta changes what Redis has been told of the sale, and returns what names it.
func (s *soldSale) setMeta(t *testing.T, field string, value int, names string) string {
	t.Helper()
	must(t, s.redis.HSet(t.Context(), fmt.Sprintf("sluice:{%s}:meta", s.id), field, value).Err())
	return names
}

// exec changes Postgres behind everybody's back.
func (s *soldSale) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	if _, err := s.db.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// key names one of the sale's Redis keys at its first epoch.
func (s *soldSale) key(name string) string { return fmt.Sprintf("sluice:{%s}:1:%s", s.id, name) }

// schema makes an empty schema and returns a URL whose connections live in it.
func schema(t *testing.T) string {
	t.Helper()
	server := devstack.PostgresForTest(t).URL()
	name := "t" + strings.ReplaceAll(uuid.NewString(), "-", "")
	do := func(sql string) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), testPatience)
		defer cancel()
		conn, err := pgx.Connect(ctx, server)
		must(t, err)
		_, err = conn.Exec(ctx, sql)
		must(t, err)
		must(t, conn.Close(ctx))
	}
	do("CREATE SCHEMA " + name)
	t.Cleanup(func() { do("DROP SCHEMA " + name + " CASCADE") })
	u, err := url.Parse(server)
	must(t, err)
	query := u.Query()
	query.Set("search_path", name)
	u.RawQuery = query.Encode()
	return u.String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
