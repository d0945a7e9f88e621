package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/record"
	"sluice/loadtest/internal/stack"
	"sluice/shared/devstack"
	"sluice/shared/sale"
)

// claimClicks is how often each claimer clicks, at once and at every gateway.
const claimClicks = 5

// claimSizes are what a run of claims is made of.
type claimSizes struct {
	gateways, rounds, claimers int
	totals                     []int // of the sales of a round, each with a template of its own
}

func sizesOfClaims() claimSizes {
	if devstack.Long() {
		return claimSizes{gateways: 4, rounds: 10, claimers: 3000, totals: []int{1000, 5000}}
	}
	return claimSizes{gateways: 2, rounds: 1, claimers: 300, totals: []int{100, 500}}
}

// couponSale is a sale of total coupons in a sales file, and its template.
func couponSale(id string, total int) (saleLine, templateLine string) {
	return fmt.Sprintf("  - {id: %s, kind: coupon, template: t-%s, total: %d, opens_at: %s, closes_at: %s}\n",
			id, id, total, inFile(time.Now().Add(-time.Hour)), inFile(time.Now().Add(time.Hour))),
		fmt.Sprintf("  - {id: t-%s, kind: amount, value: 2000, min_amount: 10000, total: %d, bearers: [{party: platform, bps: 7000}, {party: merchant, bps: 3000}]}\n",
			id, total)
}

// couponFile is the sales file of coupon sales by id.
func couponFile(totals map[string]int) string {
	sales, templates := "sales:\n", "coupon_templates:\n"
	for id, total := range totals {
		s, t := couponSale(id, total)
		sales, templates = sales+s, templates+t
	}
	return sales + templates
}

// claiming is one sale of coupons, and what its claimers were told.
type claiming struct {
	*scene
	total   int
	winners record.Winners
}

func TestCoupons_ManyClicksOfManyClaimersGiveEachOneOrNone(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	sizes := sizesOfClaims()
	totals := map[string]int{}
	for round := range sizes.rounds {
		for i, total := range sizes.totals {
			totals[fmt.Sprintf("coupons-%d-%d", round, i)] = total
		}
	}
	s := openFile(ctx, t, couponFile(totals), sizes.claimers, stack.Config{Gateways: sizes.gateways, Workers: 2})
	for id, total := range totals {
		t.Run(fmt.Sprintf("%s of %d", id, total), func(t *testing.T) {
			sub := *s
			sub.t, sub.saleID = t, id
			c := &claiming{scene: &sub, total: total}
			c.clickAll(ctx)
			c.judge(ctx)
		})
	}
}

// clickAll has every claimer click some times at once, at one gateway after the other.
// Who was told nothing by any of them, for a machine may be too busy, claims once more.
func (c *claiming) clickAll(ctx context.Context) {
	c.t.Helper()
	attacker := attack.New(attack.Config{Connections: 64, Timeout: 20 * time.Second})
	defer attacker.Close()
	attacker.Run(ctx, attack.Plan{
		Attempts: claimClicks * len(c.tokens), Start: time.Now(),
		Due:      func(int) time.Duration { return 0 },
		Shot:     func(i int) attack.Shot { return attack.Shot{URL: c.orders(i), Token: c.tokens[i/claimClicks]} },
		Answered: func(i int, a attack.Answer) { c.answered(i/claimClicks, a) },
	})
	told := map[int]bool{}
	for _, w := range c.winners.All() {
		told[w.Buyer] = true
	}
	buyers := attack.NewBuyers(4, 10*time.Second)
	defer buyers.Close()
	for claimer := 0; claimer < len(c.tokens) && len(told) < min(c.total, len(c.tokens)); claimer++ {
		if !told[claimer] && c.claim(ctx, buyers, claimer) {
			told[claimer] = true
		}
	}
}

// claim insists, and reports whether there is a ticket.
func (c *claiming) claim(ctx context.Context, buyers *attack.Buyers, claimer int) bool {
	c.t.Helper()
	buyer, err := buyers.Buyer(c.tokens[claimer], false, c.gateway(claimer))
	c.must(err)
	ticket, err := buyer.Buy(ctx, c.saleID, "")
	if err != nil {
		c.t.Logf("claimer %d: %v", claimer, err) // sold out, or the counts will tell
		return false
	}
	rid, err := attack.RID(ticket.Ticket)
	c.must(err)
	c.winners.Answer(claimer, ticket.Ticket, rid, false, ticket.Status)
	return true
}

func (c *claiming) answered(claimer int, a attack.Answer) {
	switch {
	case a.Outcome == attack.OutcomeFault:
		c.t.Errorf("claimer %d: %v", claimer, a.Err)
	case a.Ticket.Ticket != "":
		rid, err := attack.RID(a.Ticket.Ticket)
		if err != nil {
			c.t.Error(err)
			return
		}
		c.winners.Answer(claimer, a.Ticket.Ticket, rid, a.Outcome == sale.Accepted.String(), a.Ticket.Status)
	}
}

// judge waits until the sale is at rest and wants as many coupons as there were, or
// claimers, whichever is less: one each, counted alike by every store.
func (c *claiming) judge(ctx context.Context) {
	c.t.Helper()
	won := c.winners.All()
	for _, w := range c.follow(ctx, won) {
		c.winners.Status(w.rid, w.status)
	}
	e := c.rest(ctx, c.winners.Seen(), time.Minute)
	want := min(c.total, len(c.tokens))
	if len(won) != want || len(e.Orders) != want || e.Held != int64(want) {
		c.t.Errorf("%d claimers were told of a coupon, %d orders, %d units held; want %d", len(won), len(e.Orders), e.Held, want)
	}
	c.counted(ctx, want)
	c.asOrders(ctx, won[0])
}

type shownTicket struct {
	rid    string
	status sale.Status
}

// follow asks, for everybody who was told of a reservation, until the coupon is theirs.
func (c *claiming) follow(ctx context.Context, won []record.Winner) []shownTicket {
	c.t.Helper()
	buyers := attack.NewBuyers(16, 10*time.Second)
	defer buyers.Close()
	var shown []shownTicket
	claimers := map[int]bool{}
	for _, w := range won {
		buyer, err := buyers.Buyer(c.tokens[w.Buyer], false, c.gateway(w.Buyer))
		c.must(err)
		mine, err := buyer.MyTickets(ctx, c.saleID)
		c.must(err)
		if len(mine) != 1 || mine[0].Ticket != w.Ticket || claimers[w.Buyer] {
			c.t.Fatalf("claimer %d was told of %s, and has %v", w.Buyer, w.Ticket, mine)
		}
		claimers[w.Buyer] = true
		held, err := buyer.Await(ctx, mine[0])
		c.must(err)
		if held.Status != sale.StatusConfirmed || held.CouponID != w.RID || held.Amount == nil || *held.Amount != 0 || !held.PayBy.IsZero() {
			c.t.Errorf("claimer %d: %+v", w.Buyer, held)
		}
		shown = append(shown, shownTicket{w.RID, held.Status})
	}
	return shown
}

// counted wants the template to have given out n, and a coupon and a paid order of each.
func (c *claiming) counted(ctx context.Context, n int) {
	c.t.Helper()
	db, err := pgx.Connect(ctx, c.stack.Info().Postgres.URL)
	c.must(err)
	defer func() { c.must(db.Close(ctx)) }()
	var issued, coupons, claimers, pairs int
	c.must(db.QueryRow(ctx, `
		SELECT (SELECT issued FROM coupon_templates WHERE template_id = s.template_id), count(c.id), count(DISTINCT c.user_id), count(o.id)
		FROM sales s LEFT JOIN coupons c ON c.template_id = s.template_id
			LEFT JOIN orders o ON o.id = c.id AND o.user_id = c.user_id AND o.state = 'paid' AND o.amount = 0 AND o.holds_unit
		WHERE s.sale_id = $1 GROUP BY s.template_id`, c.saleID).Scan(&issued, &coupons, &claimers, &pairs))
	if issued != n || coupons != n || claimers != n || pairs != n {
		c.t.Errorf("issued %d, %d coupons of %d claimers, %d of them with a paid order; want %d", issued, coupons, claimers, pairs, n)
	}
}

// asOrders reads one of the claims as its buyer does at a worker.
func (c *claiming) asOrders(ctx context.Context, w record.Winner) {
	c.t.Helper()
	status, text := c.send(ctx, http.MethodGet, c.stack.Info().Workers[0].URL+"/v1/orders/"+w.RID, c.tokens[w.Buyer], "")
	var order struct {
		Status, SKU string
		Amount      *int64
		PayBy       *time.Time `json:"pay_by"`
	}
	c.must(json.Unmarshal([]byte(text), &order))
	if status != http.StatusOK || order.Status != "paid" || order.Amount == nil || *order.Amount != 0 || order.PayBy != nil || !strings.Contains(text, `"pay_by":null`) ||
		order.SKU != "t-"+c.saleID {
		c.t.Errorf("order: %d %s", status, text)
	}
}

func TestCoupons_KillAtTheExactPointLosesAndStrandsNothing(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		point, process string
		affected       bool // claimers lose their connection and find the ticket later
	}{
		{"gateway.reserved", "gateway-0", true},
		{"worker.before_commit", "worker-0", false},
		{"worker.after_commit", "worker-1", false},
	} {
		t.Run(tc.point, func(t *testing.T) {
			t.Parallel()
			if !devstack.Long() && tc.point == "worker.before_commit" {
				t.Skip("its part of make long: a coupon's batch is written as an order's is, see row 7 of the matrix of faults")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			s := openFile(ctx, t, couponFile(map[string]int{"coupons": killUnits}), killBuyers,
				stack.Config{Gateways: 2, Workers: 2, FirstEnv: killedAt(tc.process, tc.point)})
			s.saleID = "coupons"
			k := &killed{scene: s}
			k.attackPast(ctx, tc.process, tc.point, tc.affected)
			(&claiming{scene: s}).counted(ctx, killUnits)
		})
	}
}

// Postgres comes back as it was before most claims: orders, coupons and the template's
// count are made again, and no payment is invented for them.
func TestCoupons_PostgresRestoredOldMakesThemAgain(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	s := openFile(ctx, t, couponFile(map[string]int{"coupons": behindUnits}), behindBuyers, stack.Config{Gateways: 2, Workers: 2})
	s.saleID = "coupons"
	k := &killed{scene: s}
	older := filepath.Join(t.TempDir(), "older")
	stop := k.attackUntilStopped(ctx)
	defer stop()
	k.soldMore(ctx, behindSome)
	k.must(k.stack.Restart(ctx, "postgres", (*devstack.Server).Stop, func(s *devstack.Server) error { return s.CopyData(older) }))
	k.until(ctx, "the sale sells out", func() bool { return len(k.winners.All()) >= behindUnits })
	k.settled(ctx)
	k.readAll(ctx)
	k.must(k.stack.Restart(ctx, "postgres", (*devstack.Server).Kill, func(s *devstack.Server) error { return s.PutData(older) }))
	k.until(ctx, "postgres is found behind and is back", func() bool {
		return k.workersSum(ctx, "sluice_postgres_behind_total") == 1 && k.workersSum(ctx, "sluice_postgres_unchecked") == 0
	})
	k.until(ctx, "the sale is live again", func() bool {
		entry, err := k.stores.Postgres.Entry(ctx, k.saleID)
		return err == nil && entry.Epoch > 1 && !entry.Rebuilding
	})
	stop()
	e := k.rest(ctx, k.winners.Seen(), storeHealing)
	k.even(ctx)
	k.readAll(ctx)
	k.strandedBuyers(e)
	if len(e.Payments) != 0 || len(e.RefundsOwed) != 0 {
		t.Errorf("payments %+v, refunds owed %+v", e.Payments, e.RefundsOwed)
	}
	(&claiming{scene: s}).counted(ctx, behindUnits)
}
