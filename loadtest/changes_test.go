package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/record"
	"sluice/loadtest/internal/stack"
	"sluice/shared/auth"
	"sluice/shared/devstack"
	"sluice/shared/sale"
)

const (
	changeUnits  = 5000 // never sold out
	changeBuyers = 4000 // who attack; those who look come behind them
	changeRate   = 100  // attempts a second
	// applyWithin is three times the second within which gateways follow an apply.
	applyWithin = 3 * time.Second
)

// changing is a sale under load whose sales file is applied again and again.
type changing struct {
	*scene
	winners record.Winners
	next    int // the next buyer who looks
	stop    func()
}

func openChanging(ctx context.Context, t *testing.T) *changing {
	t.Helper()
	c := &changing{scene: openScene(ctx, t, changeUnits, changeBuyers, stack.Config{Gateways: 2, Workers: 1}), next: changeBuyers}
	ctx, cancel := context.WithCancel(ctx)
	stopped := make(chan struct{})
	c.stop = func() { cancel(); <-stopped }
	t.Cleanup(c.stop)
	go func() {
		defer close(stopped)
		attacker := attack.New(attack.Config{Connections: 16, Timeout: 5 * time.Second})
		defer attacker.Close()
		attacker.Run(ctx, attack.Plan{
			Attempts: changeBuyers, Start: time.Now(),
			Due:      func(i int) time.Duration { return time.Duration(i) * time.Second / changeRate },
			Shot:     func(i int) attack.Shot { return attack.Shot{URL: c.orders(i), Token: c.tokens[i]} },
			Answered: c.answered,
		})
	}()
	return c
}

func (c *changing) answered(buyer int, a attack.Answer) {
	if a.Ticket.Ticket == "" {
		return
	}
	rid, err := attack.RID(a.Ticket.Ticket)
	if err != nil {
		c.t.Error(err)
		return
	}
	c.winners.Answer(buyer, a.Ticket.Ticket, rid, a.Outcome == sale.Accepted.String(), a.Ticket.Status)
}

// window of a sales file, from now.
func window(opens, closes time.Duration) string {
	now := time.Now()
	return fmt.Sprintf("opens_at: %s, closes_at: %s", inFile(now.Add(opens)), inFile(now.Add(closes)))
}

// apply applies the sale with a window and further fields. The users are its allow list, if the fields name it.
func (c *changing) apply(ctx context.Context, fields string, users ...string) error {
	c.t.Helper()
	file := filepath.Join(c.dir, "sales.yaml")
	c.must(os.WriteFile(filepath.Join(c.dir, "ids.txt"), []byte(strings.Join(users, "\n")), 0o600))
	c.must(os.WriteFile(file, []byte(fmt.Sprintf("sales:\n  - {id: %s, price: 100, %s}\n", c.saleID, fields)), 0o600))
	return c.stack.Warmup(ctx, "apply", file)
}

// change applies what must be taken.
func (c *changing) change(ctx context.Context, fields string, users ...string) {
	c.t.Helper()
	c.must(c.apply(ctx, fmt.Sprintf("total: %d, %s", changeUnits, fields), users...))
}

// sees waits until an attempt of a buyer gets the answer from every gateway. Without a
// user it is somebody new each time.
func (c *changing) sees(ctx context.Context, user string, status int, text string) {
	c.t.Helper()
	secrets := c.stack.Info().Secrets
	deadline := time.Now().Add(applyWithin)
	for i := range c.stack.Info().Gateways {
		for {
			who := user
			if who == "" {
				who, c.next = buyerID(c.next), c.next+1
			}
			token, err := auth.Mint([]byte(secrets.JWTHS256), secrets.JWTIssuer, secrets.JWTAudience, who, sale.Claims{}, time.Now(), time.Hour)
			c.must(err)
			got, answer := c.send(ctx, http.MethodPost, c.orders(i), token, "")
			if got == status && strings.Contains(answer, text) || got == http.StatusOK && status == http.StatusAccepted {
				break // the one that is named has bought at the other gateway
			}
			if time.Now().After(deadline) {
				c.t.Fatalf("gateway %d after %v: %d %s, want %d %s", i, applyWithin, got, answer, status, text)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// shows waits until every gateway describes the sale with text.
func (c *changing) shows(ctx context.Context, text string) {
	c.t.Helper()
	deadline := time.Now().Add(applyWithin)
	for i := range c.stack.Info().Gateways {
		for {
			_, answer := c.send(ctx, http.MethodGet, c.gateway(i)+"/v1/sales/"+c.saleID, "", "")
			if strings.Contains(answer, text) {
				break
			}
			if time.Now().After(deadline) {
				c.t.Fatalf("gateway %d after %v: %s, want %s", i, applyWithin, answer, text)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// ranks of the tickets that there are.
func (c *changing) ranks(ctx context.Context) map[string]int64 {
	c.t.Helper()
	ranks := map[string]int64{}
	c.must(c.stores.Redis.EachTicket(ctx, c.saleID, 1, func(t sale.Ticket) error {
		ranks[t.RID] = t.Rank
		return nil
	}))
	return ranks
}

func TestChanges_GatewaysFollowEveryApplyUnderLoad(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := openChanging(ctx, t)
	open := window(-time.Hour, time.Hour)
	c.sees(ctx, "", http.StatusAccepted, "queued")
	before := c.ranks(ctx)

	c.change(ctx, open+", title: Another, weight: 7")
	c.shows(ctx, `"title":"Another"`)
	if standing := c.operate(ctx, http.MethodGet, "", ""); !strings.Contains(standing, `"weight":7`) {
		t.Errorf("the sale: %s", standing)
	}
	c.change(ctx, window(time.Hour, 2*time.Hour))
	c.sees(ctx, "", http.StatusConflict, "/problems/not-open")
	c.change(ctx, open)
	c.sees(ctx, "", http.StatusAccepted, "queued")
	c.change(ctx, window(-time.Hour, 0))
	c.sees(ctx, "", http.StatusConflict, "/problems/closed")
	c.change(ctx, open)
	c.sees(ctx, "", http.StatusAccepted, "queued")

	c.change(ctx, open+", eligibility: {tags: [vip]}")
	c.sees(ctx, "", http.StatusForbidden, "missing_tag")
	c.change(ctx, open+", eligibility: {allow_list: ids.txt}", "ann", "bob")
	c.sees(ctx, "", http.StatusForbidden, "not_on_allow_list")
	c.sees(ctx, "ann", http.StatusAccepted, "queued")
	c.change(ctx, open+", eligibility: {allow_list: ids.txt}", "ann", "cy")
	c.sees(ctx, "bob", http.StatusForbidden, "not_on_allow_list")
	c.sees(ctx, "cy", http.StatusAccepted, "queued")
	c.change(ctx, open)
	c.sees(ctx, "bob", http.StatusAccepted, "queued")

	if err := c.apply(ctx, fmt.Sprintf("total: %d, currency: EUR, title: Half, %s", changeUnits+1, open)); err == nil ||
		!strings.Contains(err.Error(), "/stock") || !strings.Contains(err.Error(), "currency: CNY → EUR") {
		t.Errorf("refused with %v", err)
	}
	c.shows(ctx, `"title":"phone"`)

	c.stop()
	after := c.ranks(ctx)
	for rid, rank := range before {
		if after[rid] != rank {
			t.Errorf("the ticket of rank %d has rank %d by now", rank, after[rid])
		}
	}
	if len(before) == 0 || len(after) <= len(before) {
		t.Errorf("%d tickets before, %d after: the load missed the changes", len(before), len(after))
	}
	e := c.rest(ctx, c.winners.Seen(), time.Minute)
	if e.Total != changeUnits || e.Held != int64(len(after)) || e.Redis.Stock != changeUnits-e.Held {
		t.Errorf("%d units, %d held, %d in stock, %d tickets", e.Total, e.Held, e.Redis.Stock, len(after))
	}
}

// Postgres comes back as it was before the sales file was applied for the last time.
func TestChanges_SurviveAPostgresThatIsRestoredOld(t *testing.T) {
	t.Parallel()
	cases := map[string]bool{"redis has the list": false}
	if devstack.Long() {
		cases["the list is lost everywhere"] = true
	}
	for name, listLost := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
			defer cancel()
			c := &changing{scene: openScene(ctx, t, changeUnits, 1, stack.Config{Gateways: 2, Workers: 1})}
			open := window(-2*time.Hour, 2*time.Hour)
			c.change(ctx, open+", eligibility: {allow_list: ids.txt}", "zoe")
			c.sees(ctx, "zoe", http.StatusAccepted, "queued")
			c.settled(ctx)
			older := filepath.Join(t.TempDir(), "older")
			c.must(c.stack.Restart(ctx, "postgres", (*devstack.Server).Stop, func(s *devstack.Server) error { return s.CopyData(older) }))
			c.until(ctx, "postgres is back", func() bool { return c.workersSum(ctx, "sluice_postgres_unchecked") == 0 })
			c.change(ctx, open+", title: Newer, weight: 7, eligibility: {allow_list: ids.txt}", "ann", "bob")
			c.shows(ctx, `"title":"Newer"`)
			c.sees(ctx, "ann", http.StatusAccepted, "queued")
			var before, after sale.Entry
			var err error
			c.until(ctx, "the test's own connections are new ones", func() bool {
				before, err = c.stores.Postgres.Entry(ctx, c.saleID)
				return err == nil
			})
			c.settled(ctx)
			c.must(c.stack.Restart(ctx, "postgres", (*devstack.Server).Kill, func(s *devstack.Server) error {
				if listLost {
					c.loseKey(ctx, "allow")
				}
				return s.PutData(older)
			}))
			c.until(ctx, "the sale is live again", func() bool {
				after, err = c.stores.Postgres.Entry(ctx, c.saleID)
				return err == nil && after.Epoch > before.Epoch && !after.Rebuilding
			})
			if after.Title != "Newer" || after.Weight != 7 || after.AllowRev != before.AllowRev || after.Paused != listLost || !after.ClosesAt.Equal(before.ClosesAt) {
				t.Errorf("the sale is %+v, was %+v", after, before)
			}
			if listLost {
				c.sees(ctx, "bob", http.StatusServiceUnavailable, "/problems/paused")
				c.change(ctx, open+", title: Newer, weight: 7, eligibility: {allow_list: ids.txt}", "ann", "bob")
				c.operate(ctx, http.MethodPost, "/resume", "")
			}
			c.sees(ctx, "bob", http.StatusAccepted, "queued")
			c.sees(ctx, "cy", http.StatusForbidden, "not_on_allow_list")
			c.rest(ctx, nil, time.Minute)
		})
	}
}

// loseKey removes one of the sale's keys from Redis.
func (c *changing) loseKey(ctx context.Context, name string) {
	options, err := redis.ParseURL(c.stack.Info().Redis.URL)
	c.must(err)
	raw := redis.NewClient(options)
	defer func() { _ = raw.Close() }()
	c.must(raw.Del(ctx, "sluice:{"+c.saleID+"}:1:"+name).Err())
}
