package compare

import (
	"context"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"sluice/loadtest/internal/loop"
	"sluice/loadtest/internal/record"
	"sluice/loadtest/internal/report"
	"sluice/loadtest/internal/stack"
	"sluice/shared/auth"
	"sluice/shared/devstack"
	"sluice/shared/sale"
)

// openForTest makes a baseline's tables and serves two instances in this process.
func openForTest(t *testing.T, b Baseline, at Sale) (urls []string, j judge, stop func()) {
	t.Helper()
	ctx := t.Context()
	info := stack.Info{Postgres: stack.StoreInfo{URL: devstack.PostgresForTest(t).URL()}}
	if b.Name() == oneByOneName {
		info.Redis.URL, info.NATS.URL = devstack.RedisForTest(t).URL(), devstack.NATSForTest(t).URL()
	}
	db, err := pgx.Connect(ctx, info.Postgres.URL)
	must(t, err)
	shop := emptyShop(t, b, Site{DB: db, Stack: info}, at)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), testPatience)
		defer cancel()
		must(t, shop.Drop(ctx))
		must(t, db.Close(ctx))
	})
	tokens, err := auth.NewVerifier(auth.VerifierConfig{HS256Keys: [][]byte{[]byte(testSecrets.JWTHS256)}, Issuer: testSecrets.JWTIssuer, Audience: testSecrets.JWTAudience, CacheSize: 1000})
	must(t, err)
	var instances []*instance
	for range goodsInstances {
		d, err := deciders[b.Name()](ctx, backends{postgres: info.Postgres.URL, redis: info.Redis.URL, nats: info.NATS.URL})
		must(t, err)
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		instances = append(instances, startInstance(listener, d, tokens))
		urls = append(urls, "http://"+listener.Addr().String())
	}
	return urls, judge{db, shop.Schema()}, func() {
		for _, i := range instances {
			must(t, i.stop(ctx))
		}
	}
}

var testSecrets = stack.Secrets{JWTHS256: "a secret of at least 32 bytes for tests", JWTIssuer: "test", JWTAudience: "sluice"}

// emptyShop is a baseline's, stocked, without instances.
func emptyShop(t *testing.T, b Baseline, site Site, at Sale) Shop {
	t.Helper()
	index := "UNIQUE INDEX"
	if b.Name() == readCheckInsertName {
		index = "INDEX"
	}
	shop, err := openGoods(t.Context(), site, b.Name(), index, []Sale{at})
	must(t, err)
	if b.Name() != oneByOneName {
		return shop
	}
	all := oneByOneShop{goodsShop: shop, sales: []Sale{at}}
	must(t, all.fill(t.Context()))
	return all
}

func TestBaselines_SellTheSameDemandEachInItsOwnWay(t *testing.T) {
	t.Parallel()
	const buyers = 300
	tokens, err := loop.MintBuyers(testSecrets, buyers)
	must(t, err)
	for _, b := range ofGoods() {
		t.Run(b.Name(), func(t *testing.T) {
			t.Parallel()
			at := Sale{ID: "phone", Total: 40, Limit: 1, Goods: true}
			urls, j, stop := openForTest(t, b, at)
			seen := newTally(b.Name(), &record.Latencies{})
			p := pressing{demand: newDemand(buyers, 2), sale: at, buyers: tokens, tally: seen}
			_, err := p.press(t.Context(), 32, urls)
			must(t, err)
			entered, err := enteredAll(t.Context(), urls)
			must(t, err)
			promised := int64(seen.outcomes[sale.Accepted.String()] + seen.outcomes[sale.Confirmed.String()])
			s := awaitSold(t, j, at, promised)
			stop()
			t.Logf("%+v, answers %v", s, seen.outcomes)
			if entered != 2*buyers || seen.requests != 2*buyers || seen.unanswered != 0 {
				t.Errorf("%d attempts, %d decided, %d without an answer: %v", seen.requests, entered, seen.unanswered, seen.fault)
			}
			if wrong := b.Name() == readCheckInsertName; wrong != (s.Orders > 40) || s.Orders < 40 || s.Orders != promised {
				t.Errorf("%d orders of 40 units, %d promised", s.Orders, promised)
			}
			if b.Name() != readCheckInsertName && s.Doubles != 0 {
				t.Errorf("%d doubles", s.Doubles)
			}
			if s.Units.Before(s.First) || s.Last.Before(s.Units) {
				t.Errorf("first %v, as many as units %v, last %v", s.First, s.Units, s.Last)
			}
		})
	}
}

// awaitSold waits until as many orders are there as were promised.
func awaitSold(t *testing.T, j judge, at Sale, promised int64) sold {
	t.Helper()
	for deadline := time.Now().Add(testPatience); ; {
		s, err := j.sold(t.Context(), at)
		must(t, err)
		if s.Orders >= promised || time.Now().After(deadline) {
			return s
		}
	}
}

func TestDemand_IsTheSameEachTimeAndEachBuyersTurnsAreApart(t *testing.T) {
	t.Parallel()
	first, second := newDemand(100, 2), newDemand(100, 2)
	if !slices.Equal(first, second) {
		t.Error("it differs from time to time")
	}
	turns := make(map[int32]int)
	for _, buyer := range first {
		turns[buyer]++
	}
	for buyer, n := range turns {
		if n != 2 {
			t.Errorf("buyer %d attempts %d times", buyer, n)
		}
	}
	if len(turns) != 100 || slices.IsSorted(first[:100]) {
		t.Errorf("%d buyers, the first of them %v", len(turns), first[:10])
	}
}

func TestPromised_JudgesTheMediansOfTheRounds(t *testing.T) {
	t.Parallel()
	var rounds []figures
	for _, sluice := range []float64{1, 2, 3} {
		f := figures{layer4PerUnit: 1.1, saleFigure(sluiceName) + "_last_order_s": sluice}
		for _, b := range ofGoods() {
			f[saleFigure(b.Name())+"_last_order_s"] = 12
		}
		f.compareSales()
		rounds = append(rounds, f)
	}
	var held []string
	for _, p := range promised(report.Spreads(rounds)) {
		held = append(held, fmt.Sprint(p.Name, " ", p.Figure, " ", p.Held))
	}
	want := []string{"sale_vs_read_check_insert 6 false", "sale_vs_conditional_update 6 true", "layer4_per_unit 1.1 true"}
	if !slices.Equal(held, want) {
		t.Errorf("%q, want %q", held, want)
	}
}
