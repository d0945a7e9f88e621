// Package attack sends attempts when they are due, whether or not earlier ones
// were answered, as real buyers do. A latency is measured from the due time: an
// attempt that had to wait for a connection has waited for the gateway.
package attack

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"sluice/loadtest/internal/wait"
)

// Shot is one attempt as it is sent.
type Shot struct {
	URL   string // of the sale's orders
	Token string // the buyer's JWT
	Key   string // idempotency key, "" for none
}

// Plan is an attack: what to send and when.
type Plan struct {
	Attempts int
	Start    time.Time
	Due      func(i int) time.Duration // since Start; never falls
	Shot     func(i int) Shot          // called shortly before attempt i is due
	Answered func(i int, a Answer)     // called once for every attempt sent, from any sender
}

// Config of an attacker. Both are needed.
type Config struct {
	Connections int           // senders, each with a connection of its own
	Timeout     time.Duration // of one attempt
}

// idle is how long a connection is kept without an attempt: less than gateways keep it, or
// the first attempt after a quiet time would meet one that is being closed.
const idle = 30 * time.Second

// Attacker sends plans over its connections.
type Attacker struct {
	config Config
	client *fasthttp.Client
}

// New makes an attacker; it dials on first use.
func New(c Config) *Attacker {
	return &Attacker{config: c, client: &fasthttp.Client{
		Name: "sluice-loadtest", MaxConnsPerHost: c.Connections, MaxConnWaitTimeout: c.Timeout,
		MaxIdleConnDuration: idle, ReadTimeout: c.Timeout, WriteTimeout: c.Timeout,
		// A repeated attempt would be a second one that nobody counted.
		MaxIdemponentCallAttempts: 1,
	}}
}

// Close drops the idle connections.
func (a *Attacker) Close() { a.client.CloseIdleConnections() }

// Run sends the plan until its last attempt is answered or ctx ends, and says
// whether the schedule was kept. Attempts under way when ctx ends are answered.
func (a *Attacker) Run(ctx context.Context, p Plan) Lateness {
	var (
		next    atomic.Int64
		late    latenessCount
		senders sync.WaitGroup
	)
	for range min(a.config.Connections, p.Attempts) {
		senders.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= p.Attempts || !a.attempt(ctx, p, i, &late) {
					return
				}
			}
		})
	}
	senders.Wait()
	return late.l
}

// attempt sends attempt i when it is due; false when ctx ended first.
func (a *Attacker) attempt(ctx context.Context, p Plan, i int, late *latenessCount) bool {
	shot := p.Shot(i)
	due := p.Start.Add(p.Due(i))
	ahead := time.Until(due)
	if !wait.For(ctx, ahead) {
		return false
	}
	sent := time.Now()
	one := latenessOf(sent.Sub(due), ahead > 0)
	late.add(one)
	answer := a.send(shot)
	answer.Sent, answer.Latency, answer.Late = sent, time.Since(due), one
	p.Answered(i, answer)
	return true
}

// Send posts one attempt at once, as somebody does who waits for its answer before
// the next. Waiting for a connection counts.
func (a *Attacker) Send(shot Shot) Answer {
	sent := time.Now()
	answer := a.send(shot)
	answer.Sent, answer.Latency = sent, time.Since(sent)
	return answer
}

// send posts one attempt and reads its answer.
func (a *Attacker) send(shot Shot) Answer {
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.Header.SetMethod(fasthttp.MethodPost)
	req.SetRequestURI(shot.URL)
	req.Header.Set(fasthttp.HeaderAuthorization, "Bearer "+shot.Token)
	if shot.Key != "" {
		req.Header.Set("Idempotency-Key", shot.Key)
	}
	if err := a.client.DoTimeout(req, resp, a.config.Timeout); err != nil {
		return Answer{Outcome: OutcomeFault, Err: err}
	}
	return AnswerOf(resp.StatusCode(), resp.Body())
}
