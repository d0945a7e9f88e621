package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/record"
	"sluice/loadtest/internal/stack"
	"sluice/shared/client"
	"sluice/shared/devstack"
	"sluice/shared/sale"
)

const (
	clicksLimit  = 3
	clicksOfUser = 50 // at once
)

// clicking is one sale, its buyers, and what they were told. The draw is what the seed
// makes of it, so that a failure can be had again.
type clicking struct {
	*scene
	id      string
	users   int
	stock   int
	rng     *rand.Rand
	winners record.Winners

	mu       sync.Mutex
	owner    map[identity]string // the one ticket of a user's key
	accepted map[string]int      // how often a ticket was answered 202
	refused  map[string]int      // problems
}

type identity struct {
	user int
	key  string
}

type click struct {
	identity
	gateway int
	quoted  bool
}

// told is what an attempt was answered.
type told struct {
	status int
	client.Ticket
	problem string
}

// One buyer for sure, and stocks below and above what all buyers may have, are among
// the first seeds; the others are drawn.
func drawClicking(seed uint64) *clicking {
	c := &clicking{id: fmt.Sprintf("clicks-%d", seed), rng: rand.New(rand.NewPCG(seed, 6)), owner: map[identity]string{}, accepted: map[string]int{}, refused: map[string]int{}}
	switch seed {
	case 0:
		c.users, c.stock = 1, clicksLimit-1
	case 1:
		c.users, c.stock = 1, clicksLimit+2
	case 2:
		c.users, c.stock = 4, 4*clicksLimit-5
	case 3:
		c.users, c.stock = 4, 4*clicksLimit+1
	default:
		c.users = 1 + c.rng.IntN(4)
		c.stock = c.rng.IntN(c.users*clicksLimit + 3)
	}
	return c
}

// draw mixes clicks without a key, clicks that reuse one, and clicks with keys of their
// own, in any order, over both gateways.
func (c *clicking) draw() []click {
	clicks := make([]click, 0, c.users*clicksOfUser)
	for user := range c.users {
		for n := range clicksOfUser {
			one := click{identity: identity{user: user}, gateway: c.rng.IntN(2), quoted: c.rng.IntN(2) == 0}
			switch {
			case n < clicksLimit || n%3 == 0: // enough for every slot
				one.key = fmt.Sprint("own-", n)
			case n%3 == 1:
				one.key = "reused"
			}
			clicks = append(clicks, one)
		}
	}
	c.rng.Shuffle(len(clicks), func(i, j int) { clicks[i], clicks[j] = clicks[j], clicks[i] })
	return clicks
}

func TestClicks_AKeyIsOneTicketAndNobodyHasMoreThanTheLimit(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	seeds := uint64(8)
	if devstack.Long() {
		seeds = 80
	}
	var all []*clicking
	var file strings.Builder
	file.WriteString("sales:\n")
	for seed := range seeds {
		c := drawClicking(seed)
		all = append(all, c)
		fmt.Fprintf(&file, "  - {id: %s, total: %d, price: 100, per_user_limit: %d, opens_at: %s, closes_at: %s}\n",
			c.id, c.stock, clicksLimit, inFile(time.Now().Add(-time.Hour)), inFile(time.Now().Add(time.Hour)))
	}
	histories := seeds / 2
	for seed := range histories {
		fmt.Fprintf(&file, "  - {id: history-%d, total: %d, price: 100, per_user_limit: %d, opens_at: %s, closes_at: %s}\n",
			seed, historyStock, historyLimit, inFile(time.Now().Add(-time.Hour)), inFile(time.Now().Add(time.Hour)))
	}
	s := openFile(ctx, t, file.String(), 4, stack.Config{Gateways: 2, Workers: 1})
	transport := &http.Transport{MaxIdleConnsPerHost: 4 * clicksOfUser}
	defer transport.CloseIdleConnections()
	for _, c := range all {
		c.scene = s
		if !t.Run(fmt.Sprintf("%d buyers, %d units, seed %s", c.users, c.stock, c.id), func(t *testing.T) {
			sub := *s
			sub.t = t
			c.scene = &sub
			c.run(ctx, &http.Client{Transport: transport, Timeout: 20 * time.Second})
		}) {
			return
		}
	}
	for seed := range histories {
		s.linearizable(ctx, seed, &http.Client{Transport: transport, Timeout: 20 * time.Second})
	}
}

func (c *clicking) run(ctx context.Context, over *http.Client) {
	clicks := c.draw()
	var start, clicked sync.WaitGroup
	start.Add(1)
	for _, one := range clicks {
		clicked.Go(func() {
			start.Wait()
			c.take(one, c.insist(ctx, over, one))
		})
	}
	start.Done()
	clicked.Wait()
	c.replays(ctx, over, clicks)
	slots := min(c.users*clicksLimit, c.stock)
	if n := len(c.winners.All()); n != slots {
		c.t.Errorf("%d tickets of %d buyers and %d units, want %d; refused %v", n, c.users, c.stock, slots, c.refused)
	}
	for ticket, n := range c.accepted {
		if n != 1 {
			c.t.Errorf("%s was answered 202 %d times", ticket, n)
		}
	}
	mine := c.compareWithMyTickets(ctx)
	c.compareWithRows(ctx, mine, slots)
}

// insist attempts until there is an answer that stands. A 503 on the way says that
// nothing is lost: the hand-over of a machine that is busy may take its time.
func (c *clicking) insist(ctx context.Context, over *http.Client, one click) told {
	for {
		a := c.click(ctx, over, one)
		if a.status != http.StatusServiceUnavailable || ctx.Err() != nil {
			return a
		}
		if a.Ticket.Ticket != "" {
			c.hold(one, a, false)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// click attempts once.
func (c *clicking) click(ctx context.Context, over *http.Client, one click) told {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.gateway(one.gateway)+"/v1/sales/"+c.id+"/orders", nil)
	if err != nil {
		return told{problem: err.Error()}
	}
	req.Header.Set("Authorization", "Bearer "+c.tokens[one.user])
	switch {
	case one.key != "" && one.quoted: // the same key, by the contract
		req.Header.Set("Idempotency-Key", `"`+one.key+`"`)
	case one.key != "":
		req.Header.Set("Idempotency-Key", one.key)
	}
	res, err := over.Do(req)
	if err != nil {
		return told{problem: err.Error()}
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return told{problem: err.Error()}
	}
	answer := told{status: res.StatusCode}
	var problem struct {
		Type   string
		Ticket client.Ticket
	}
	if res.StatusCode < http.StatusBadRequest {
		err = json.Unmarshal(text, &answer.Ticket)
	} else if err = json.Unmarshal(text, &problem); err == nil {
		answer.problem, answer.Ticket = problem.Type, problem.Ticket
	}
	if err != nil {
		answer.problem = err.Error()
	}
	return answer
}

// take holds an answer against what the contract allows.
func (c *clicking) take(one click, a told) {
	switch {
	case a.status == http.StatusAccepted && !a.Replay:
		c.hold(one, a, true)
	case a.status == http.StatusOK && a.Replay:
		c.hold(one, a, false)
	case a.status == http.StatusConflict && (a.problem == "/problems/sold-out" || one.key != "" && a.problem == "/problems/limit-reached"):
		c.mu.Lock()
		defer c.mu.Unlock()
		c.refused[a.problem]++
	default:
		c.t.Errorf("buyer %d, key %q: %d %s %+v", one.user, one.key, a.status, a.problem, a.Ticket)
	}
}

// hold holds a ticket against all that were answered before.
func (c *clicking) hold(one click, a told, accepted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if accepted {
		c.accepted[a.Ticket.Ticket]++
	}
	if known, ok := c.owner[one.identity]; ok && known != a.Ticket.Ticket {
		c.t.Errorf("buyer %d, key %q: %s, and before that %s", one.user, one.key, a.Ticket.Ticket, known)
	}
	c.owner[one.identity] = a.Ticket.Ticket
	rid, err := attack.RID(a.Ticket.Ticket)
	if err != nil {
		c.t.Error(err)
	}
	c.winners.Answer(one.user, a.Ticket.Ticket, rid, accepted, a.Status)
}

// replays repeats every click, once the storm is over, at the other gateway. A key that
// has a ticket gets it again, unless the sale is refused from memory by now.
func (c *clicking) replays(ctx context.Context, over *http.Client, clicks []click) {
	c.t.Helper()
	for _, one := range clicks {
		ticket, had := c.owner[one.identity]
		one.gateway = 1 - one.gateway
		a := c.insist(ctx, over, one)
		before := len(c.winners.All())
		c.take(one, a)
		soldOut := c.stock <= c.users*clicksLimit && a.problem == "/problems/sold-out"
		if had && !soldOut && (a.status != http.StatusOK || a.Ticket.Ticket != ticket) {
			c.t.Errorf("buyer %d, key %q again: %d %s, want a replay of %s", one.user, one.key, a.status, a.problem, ticket)
		}
		if len(c.winners.All()) != before {
			c.t.Errorf("buyer %d, key %q: accepted when all slots had had their click", one.user, one.key)
		}
	}
}

// compareWithMyTickets wants both gateways to list what each buyer was told, and
// nothing else, and returns the buyers of the rids.
func (c *clicking) compareWithMyTickets(ctx context.Context) map[string]int {
	c.t.Helper()
	mine := map[string]int{}
	buyers := attack.NewBuyers(4, 5*time.Second)
	defer buyers.Close()
	won := map[int]map[string]bool{}
	for _, w := range c.winners.All() {
		if won[w.Buyer] == nil {
			won[w.Buyer] = map[string]bool{}
		}
		won[w.Buyer][w.Ticket] = true
		mine[w.RID] = w.Buyer
	}
	for user := range c.users {
		for g := range 2 {
			buyer, err := buyers.Buyer(c.tokens[user], true, c.gateway(g))
			c.must(err)
			listed, err := buyer.MyTickets(ctx, c.id)
			c.must(err)
			if len(listed) != len(won[user]) || len(listed) > clicksLimit {
				c.t.Errorf("buyer %d has %d tickets at gateway %d, was told of %d", user, len(listed), g, len(won[user]))
			}
			for _, t := range listed {
				if !won[user][t.Ticket] {
					c.t.Errorf("buyer %d was never told of %s", user, t.Ticket)
				}
			}
		}
	}
	return mine
}

// compareWithRows wants one row in Postgres for each slot, bound to the key that took
// it, and every store to agree.
func (c *clicking) compareWithRows(ctx context.Context, mine map[string]int, slots int) {
	c.t.Helper()
	c.saleID = c.id
	e := c.rest(ctx, c.winners.Seen(), time.Minute)
	if len(e.Orders) != slots || e.Held != int64(slots) {
		c.t.Errorf("%d rows, %d units held, want %d", len(e.Orders), e.Held, slots)
	}
	slotsOf := map[string]bool{}
	for _, o := range e.Orders {
		user, told := mine[o.RID]
		slot := fmt.Sprint(o.UserID, "#", o.Slot)
		if !told || o.UserID != buyerID(user) || o.State != sale.OrderPending || o.Slot < 1 || o.Slot > clicksLimit || slotsOf[slot] {
			c.t.Errorf("row %+v is of buyer %d (told: %v)", o, user, told)
			continue
		}
		slotsOf[slot] = true
		if rid, err := attack.RID(c.owner[identity{user, o.Key}]); err != nil || rid != o.RID {
			c.t.Errorf("row %s has key %q, whose ticket is of %s", o.RID, o.Key, rid)
		}
	}
}
