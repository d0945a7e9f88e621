package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/google/uuid"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/wait"
	"sluice/shared/client"
	"sluice/shared/sale"
)

const (
	answerTimeout = 5 * time.Second
	followers     = 64 // connections of those who follow tickets, to each gateway
	payers        = 32 // payment events under way at a time
	payWithin     = 2 * time.Minute
	followWithin  = 2 * time.Minute
)

// Of a hundred who have a ticket.
const (
	payInTime = 60
	payLate   = 10 // when the order has expired; the others never pay
	follow    = 10 // whatever they pay
)

// crowd is who attempts in a soak.
type crowd struct {
	*run
	attacker *attack.Attacker
	buyers   *attack.Buyers
	paying   chan struct{} // has room for one who pays
	mu       sync.Mutex
	at       map[int]*goods // sales of attempts under way
	random   *rand.Rand     // guarded by mu
}

// attempt sends attempts, each of another buyer in one of the open sales.
func (r *run) attempt(sending, ctx context.Context) {
	c := &crowd{run: r, paying: make(chan struct{}, payers), at: make(map[int]*goods), random: rand.New(rand.NewPCG(r.Seed, 1)),
		attacker: attack.New(attack.Config{Connections: connections, Timeout: answerTimeout}), buyers: attack.NewBuyers(followers, answerTimeout)}
	defer c.attacker.Close()
	defer c.buyers.Close()
	late := c.attacker.Run(sending, attack.Plan{
		Attempts: int(r.perSecond * r.Lasts.Seconds()), Start: r.began,
		Due:      func(i int) time.Duration { return time.Duration(float64(i) / r.perSecond * float64(time.Second)) },
		Shot:     c.shot,
		Answered: func(i int, a attack.Answer) { c.answered(ctx, i, a) },
	})
	r.say("attempts are over: %s", late)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range c.at { // attempts that were made ready, and never sent
		g.busy.Done()
	}
}

// shot is attempt i, in any of the sales that are open. When none is, in one that is not
// there.
func (c *crowd) shot(i int) attack.Shot {
	gateways := c.stack.Info().Gateways
	shot := attack.Shot{URL: gateways[i%len(gateways)].URL + "/v1/sales/", Token: c.tokens.Token(user(i))}
	g := c.pick()
	if g == nil {
		shot.URL += "none/orders"
		return shot
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at[i] = g
	shot.URL += g.id + "/orders"
	return shot
}

func user(i int) string { return fmt.Sprintf("soak-%d", i) }

func (c *crowd) draw(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.random.IntN(n)
}

// pick returns an open sale that is busy until its attempt is answered; nil if there is none.
func (c *crowd) pick() *goods {
	drawn := c.draw(1 << 20)
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	if len(c.selling) == 0 {
		return nil
	}
	g := c.selling[drawn%len(c.selling)]
	g.busy.Add(1)
	return g
}

func (c *crowd) answered(ctx context.Context, i int, a attack.Answer) {
	c.run.mu.Lock()
	c.outcomes[a.Outcome]++
	c.run.mu.Unlock()
	c.mu.Lock()
	g := c.at[i]
	delete(c.at, i)
	c.mu.Unlock()
	if g == nil {
		return
	}
	defer g.busy.Done()
	if a.Ticket.Ticket == "" {
		return
	}
	rid, err := attack.RID(a.Ticket.Ticket)
	if err != nil {
		c.fail("I3", "%v", err)
		return
	}
	if g.winners.Answer(i, a.Ticket.Ticket, rid, a.Outcome == sale.Accepted.String(), a.Ticket.Status) {
		c.won(ctx, g, i, rid, a.Ticket)
	}
}

// won lets a buyer with a ticket pay, or not, and follow it, or not.
func (c *crowd) won(ctx context.Context, g *goods, i int, rid string, t client.Ticket) {
	drawn, pause := c.draw(100), time.Duration(c.draw(int(3*time.Second)))
	switch {
	case drawn < payInTime:
		g.busy.Go(func() { c.pay(ctx, i, rid, pause) })
	case drawn < payInTime+payLate:
		g.busy.Go(func() { c.pay(ctx, i, rid, hold+pause) })
	}
	if c.draw(100) < follow {
		g.busy.Go(func() { c.follow(ctx, g, i, rid, t) })
	}
}

// pay has the payment provider report that an order is paid, whether there is one yet or not.
func (c *crowd) pay(ctx context.Context, i int, rid string, pause time.Duration) {
	if !wait.For(ctx, pause) {
		return
	}
	c.paying <- struct{}{}
	defer func() { <-c.paying }()
	ctx, cancel := context.WithTimeout(ctx, payWithin)
	defer cancel()
	if err := c.report(ctx, i, rid); err != nil {
		c.fail("I3", "nobody takes the payment of order %s: %v", rid, err)
	}
}

// report has the payment provider report the n-th payment, of an order, until a worker takes it.
func (r *run) report(ctx context.Context, n int, rid string) error {
	info := r.stack.Info()
	p := client.Provider{Key: []byte(info.Secrets.Webhook), HTTP: r.provider}
	for _, w := range info.Workers {
		p.Workers = append(p.Workers, w.URL)
	}
	return p.Deliver(ctx, n, sale.PaymentEvent{
		EventID: uuid.NewString(), Type: sale.PaymentSucceeded, OrderID: rid, AmountMinor: price, Currency: "CNY", OccurredAt: time.Now(),
	})
}

// follow reads a ticket until it has its outcome, whatever breaks meanwhile.
func (c *crowd) follow(ctx context.Context, g *goods, i int, rid string, t client.Ticket) {
	ctx, cancel := context.WithTimeout(ctx, followWithin)
	defer cancel()
	var urls []string
	for _, gateway := range c.stack.Info().Gateways {
		urls = append(urls, gateway.URL)
	}
	reader, err := c.buyers.Buyer(c.tokens.Token(user(i)), true, urls...)
	if err != nil {
		c.fail("scenario", "%v", err)
		return
	}
	last, err := reader.Follow(ctx, t, func(t client.Ticket, _ time.Duration) { g.winners.Status(rid, t.Status) })
	if err != nil {
		c.fail("I3", "the ticket of reservation %s has no outcome: it is %s: %v", rid, last.Status, err)
	}
}
