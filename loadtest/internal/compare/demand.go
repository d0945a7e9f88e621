package compare

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/loop"
)

const (
	saleGateways = 2 // that attempts go to, and as many instances of a baseline
	demandSeed   = 20261111
)

// demand is who attempts to buy, one after the other. It is the same for every system in
// every round.
type demand []int32 // buyers

// newDemand has each buyer attempt so often, all in an order drawn at random.
func newDemand(buyers, each int) demand {
	d := make(demand, buyers*each)
	for i := range d {
		d[i] = int32(i % buyers)
	}
	random := rand.New(rand.NewPCG(demandSeed, uint64(len(d))))
	random.Shuffle(len(d), func(i, k int) { d[i], d[k] = d[k], d[i] })
	return d
}

// pressing is a demand under way: a closed loop over connections that are kept alive. Each
// takes the next attempt as soon as it has the last one's answer.
type pressing struct {
	demand
	sale   Sale
	buyers loop.Buyers
	tally  *tally
	next   atomic.Int64
}

// press connects so often to the urls in turn, and sends every attempt. It returns when the
// first was sent, once the last is answered.
func (p *pressing) press(ctx context.Context, connections int, urls []string) (began time.Time, err error) {
	conns, err := loop.DialEach(ctx, urls, connections)
	if err != nil {
		return began, err
	}
	attempt := p.buyers.Attempts(p.sale.ID)
	var sending sync.WaitGroup
	began = time.Now()
	for i, c := range conns {
		sending.Go(func() { p.send(ctx, urls[i%len(urls)], c, attempt) })
	}
	sending.Wait()
	return began, ctx.Err()
}

// send sends attempts over one connection until there are no more, and over another one
// to the same server after a fault.
func (p *pressing) send(ctx context.Context, url string, c *loop.Connection, attempt func(into []byte, buyer int) []byte) {
	var request []byte
	for ctx.Err() == nil {
		i := int(p.next.Add(1)) - 1
		if i >= len(p.demand) {
			break
		}
		buyer := int(p.demand[i])
		request = attempt(request[:0], buyer)
		a := sendOne(c, request)
		p.tally.answered(p.sale, buyer, 0, a, true)
		if a.Outcome != attack.OutcomeFault {
			continue
		}
		c.Close()
		again, err := loop.DialEach(ctx, []string{url}, 1)
		if err != nil {
			return // its attempts are the others' now, and what fails is in the tally
		}
		c = again[0]
	}
	c.Close()
}

// sendOne sends an attempt, and waits for its answer.
func sendOne(c *loop.Connection, request []byte) attack.Answer {
	sent := time.Now()
	err := c.Within(attackTimeout)
	var status int
	if err == nil {
		status, err = c.Do(request)
	}
	a := attack.Answer{Outcome: attack.OutcomeFault, Err: err}
	if err == nil {
		a = attack.AnswerOf(status, c.Answer.Body())
	}
	a.Sent, a.Latency = sent, time.Since(sent)
	return a
}
