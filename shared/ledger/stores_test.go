package ledger

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"pgregory.net/rapid"

	"sluice/shared/devstack"
	"sluice/shared/pgstore"
	"sluice/shared/redisstock"
	"sluice/shared/sale"
)

// stores are real ones, with a schema of the test's own.
type stores struct {
	t     *testing.T
	redis *redisstock.Client
	truth *pgstore.Store
	sql   *pgxpool.Pool
}

var realSales atomic.Int64 // all tests share one Redis

func realStores(t *testing.T) *stores {
	t.Helper()
	server := devstack.PostgresForTest(t).URL()
	admin, err := pgxpool.New(t.Context(), server)
	must(t, err)
	t.Cleanup(admin.Close)
	schema := "t" + strings.ReplaceAll(uuid.NewString(), "-", "")
	_, err = admin.Exec(t.Context(), `CREATE SCHEMA `+schema)
	must(t, err)
	t.Cleanup(func() { _, _ = admin.Exec(context.WithoutCancel(t.Context()), `DROP SCHEMA `+schema+` CASCADE`) })
	u, err := url.Parse(server)
	must(t, err)
	query := u.Query()
	query.Set("search_path", schema)
	u.RawQuery = query.Encode()
	s := &stores{t: t, redis: connect(t, devstack.RedisForTest(t).URL(), 10*time.Second)}
	s.sql, err = pgxpool.New(t.Context(), u.String())
	must(t, err)
	t.Cleanup(s.sql.Close)
	s.truth, err = pgstore.Open(t.Context(), pgstore.Config{URL: u.String(), StatementTimeout: 20 * time.Second})
	must(t, err)
	t.Cleanup(s.truth.Close)
	_, err = s.truth.Migrate(t.Context())
	must(t, err)
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// world is one whose tasks drive the real stores, beside the references.
func (s *stores) world(setting Setting, without ...Protection) *World {
	n := realSales.Add(1)
	product := setting.Sale()
	product.ID = fmt.Sprintf("ledger-%d-%d", os.Getpid(), n)
	_, err := s.truth.Apply(s.t.Context(), pgstore.Catalogue{Sales: []pgstore.SaleConfig{{Sale: product}}})
	must(s.t, err)
	w := newWorld(product, int(n%10000), without...)
	both := &pair{stores: s, world: w, saleID: product.ID}
	w.redis, w.truth, w.differs = &pairRedis{pair: both, ref: w.fast}, &pairTruth{pair: both, ref: w.rows}, both.compare
	w.begin()
	return w
}

// pair is a sale in the real stores and in the references. Every call is made to both; the
// first difference is kept, until check asks for it.
type pair struct {
	*stores
	world   *World
	saleID  string
	changed bool // something was called since compare
	found   error
}

// The references know no times.
var timeless = cmp.Options{
	cmpopts.IgnoreFields(sale.Reservation{}, "AcceptedAt"), cmpopts.IgnoreFields(sale.Ticket{}, "UpdatedAt", "PayBy"),
	cmpopts.IgnoreFields(sale.Live{}, "Entry"), cmpopts.EquateEmpty(), cmp.AllowUnexported(row{}),
}

// same notes where a real store answers otherwise than its reference.
func (p *pair) same(call string, reference, real any) {
	p.changed = true
	if diff := cmp.Diff(reference, real, timeless); diff != "" && p.found == nil {
		p.found = violated(Differs, "%s: the ledger (-) and the store (+)\n%s", call, diff)
	}
}

func (p *pair) fault(call string, err error) {
	if err != nil && p.found == nil {
		p.found = violated(Differs, "%s: %v", call, err)
	}
}

// row is an order in Postgres.
type row struct {
	rid                  string
	state, shown         sale.OrderState
	reason               sale.Reason
	holdsUnit, holdsSlot bool
	replaces             string
}

// compare holds what the stores have against the references.
func (p *pair) compare() error {
	if p.found == nil && p.changed {
		p.compareTruth()
		p.compareRedis()
		p.changed = false
	}
	return p.found
}

func (p *pair) compareTruth() {
	real, err := p.truth.AuditSale(p.t.Context(), p.saleID)
	if err != nil {
		p.fault("audit", err)
		return
	}
	ref := p.world.rows
	p.same("sale", []any{ref.entry.Epoch, ref.entry.Rebuilding, ref.total, ref.held}, []any{real.Entry.Epoch, real.Entry.Rebuilding, real.Total, real.Held})
	want, got := map[string]row{}, map[string]row{}
	for rid, o := range ref.orders {
		want[rid] = row{rid, o.state, o.shown, o.reason, o.holdsUnit, o.holdsSlot, o.replaces}
	}
	for _, o := range real.Orders {
		got[o.RID] = row{o.RID, o.State, o.ShownState, o.Reason, o.HoldsUnit, o.HoldsSlot, o.Replaces}
	}
	p.same("orders", want, got)
	unapplied := len(ref.UnappliedReleases())
	p.same("releases", []int{len(ref.releases), unapplied}, []int{len(real.Releases), real.Unapplied})
	results, stored := map[string]sale.PaymentResult{}, map[string]sale.PaymentResult{}
	for id, e := range ref.payments {
		if _, known := ref.orders[e.OrderID]; known {
			results[id] = e.result
		}
	}
	for _, e := range real.Payments {
		stored[e.EventID] = e.Result
	}
	p.same("payments", results, stored)
	p.same("refunds owed", len(ref.owed), len(real.RefundsOwed))
}

func (p *pair) compareRedis() {
	epoch := p.world.announced.Epoch
	_, live := p.world.fast.Epoch(epoch)
	if !live {
		return
	}
	k := p.world.fast.keys[epoch]
	s, tickets, err := p.redis.Tickets(p.t.Context(), p.saleID, epoch, p.world.issued)
	if err != nil {
		p.fault("tickets", err)
		return
	}
	p.same("counters", []int64{k.stock, k.total, k.rank, k.accepted, k.served, k.unpaid, k.given},
		[]int64{s.Stock, s.Total, s.Rank, s.Accepted, s.Served, s.Unpaid, s.Given})
	p.same("sold out", k.soldOut, s.SoldOut)
	want, got := map[string]sale.Status{}, map[string]sale.Status{}
	for _, rid := range p.world.issued {
		if t, there := k.tickets[rid]; there {
			want[rid] = t.status
		}
	}
	for _, t := range tickets {
		if t != nil {
			got[t.RID] = t.Status
		}
	}
	p.same("tickets", want, got)
}

func TestStores_DoAsTheLedger(t *testing.T) {
	t.Parallel()
	s := realStores(t)
	runs, most := atomic.Int64{}, int64(20) // each of hundreds of round trips
	if devstack.Long() {
		most = 5000
	}
	for range (most + 99) / 100 {
		rapid.Check(t, func(rt *rapid.T) {
			setting, history := settings.Draw(rt, "sale"), histories(0, 60).Draw(rt, "history")
			if runs.Add(1) > most {
				return
			}
			if err := Run(s.world(setting), history); err != nil {
				rt.Fatalf("%v\n%s", err, replayed(setting, history))
			}
		})
	}
}

// What the stores do is seen to differ from a ledger that does otherwise.
func TestStores_ADifferenceIsFound(t *testing.T) {
	t.Parallel()
	s := realStores(t)
	bought := []Action{{Attempt, 6}, {Step, 0}, {Step, 0}, {Step, 0}, {Step, 0}, {Deliver, 0}, {Step, 0}, {Step, 0}, {Step, 0}}
	for p, more := range map[Protection][]Action{
		SettleMovesNoUnit: nil,
		RowsReturned:      {{Redeliver, 0}, {Step, 0}},
		ConditionalUpdate: {{Pay, 0}, {ApplyPaid, 0}, {Step, 0}, {Expire, 0}},
		ReleaseOnce:       {{Expire, 0}, {Release, 0}, {Step, 0}, {LoseReply, 0}, {Release, 0}, {Step, 0}, {Step, 0}},
	} {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			w := s.world(Setting{Total: 2, Limit: 1, Rebuy: true}, p)
			var found *Violation
			for _, a := range slices.Concat(bought, more) {
				w.act(a)
				if errors.As(w.differs(), &found) {
					break
				}
			}
			if found == nil || found.Invariant != Differs {
				t.Errorf("found %v", found)
			}
		})
	}
}
