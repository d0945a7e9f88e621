package bench

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"sluice/loadtest/internal/loop"
	"sluice/loadtest/internal/record"
)

// pollAgain is when a poll that was not answered with a ticket is made again.
const pollAgain = time.Second

// told is what tickets polled as told saw.
type told struct {
	perSecond     float64
	took          time.Duration
	latency, late record.Summary // late: sent after it was due
	unwanted      int            // answers without a ticket
}

// pollers poll tickets when each answer says, over a few connections.
type pollers struct {
	bench   *bench
	tickets []ticket
	timers  []*time.Timer
	dueAt   []time.Time // of each ticket's next poll
	due     chan int    // tickets whose time has come; has room for all

	mu              sync.Mutex
	polls, unwanted int
	seen            record.Latencies
}

// pollAsTold polls for a while, or until ctx ends; first is how long from now each
// ticket is polled first. The tickets are kept as they were read last.
func (b *bench) pollAsTold(ctx context.Context, tickets []ticket, first func(ticket) time.Duration, during time.Duration) (told, error) {
	address, err := loop.AddressOf(b.Stack.Gateways[0].URL)
	if err != nil {
		return told{}, err
	}
	conns, err := loop.DialMany(ctx, address, b.Few)
	if err != nil {
		return told{}, err
	}
	defer loop.CloseAll(conns)
	ctx, cancel := context.WithTimeout(ctx, during)
	defer cancel()
	p := &pollers{bench: b, tickets: tickets, timers: make([]*time.Timer, len(tickets)),
		dueAt: make([]time.Time, len(tickets)), due: make(chan int, len(tickets))}
	began := time.Now()
	p.start(began, first)
	errs := make([]error, len(conns))
	var polling sync.WaitGroup
	for k, c := range conns {
		polling.Go(func() { errs[k] = p.poll(ctx, c, during) })
	}
	polling.Wait()
	took := time.Since(began)
	for _, t := range p.timers {
		t.Stop()
	}
	all := p.seen.Summaries()
	return told{perSecond: float64(p.polls) / took.Seconds(), took: took, latency: all["latency"], late: all["late"], unwanted: p.unwanted}, errors.Join(errs...)
}

// start plans every ticket's first poll. A timer never blocks: due has room.
func (p *pollers) start(now time.Time, first func(ticket) time.Duration) {
	for i, t := range p.tickets {
		wait := first(t)
		p.dueAt[i] = now.Add(wait)
		p.timers[i] = time.AfterFunc(wait, func() { p.due <- i })
	}
}

// poll makes the polls that are due over one connection.
func (p *pollers) poll(ctx context.Context, c *loop.Connection, during time.Duration) error {
	if err := c.Within(during + loop.AnswerTimeout); err != nil {
		return err
	}
	var request []byte
	for {
		select {
		case <-ctx.Done():
			return nil
		case i := <-p.due:
			request = p.bench.read(request[:0], p.tickets[i], "")
			sent := time.Now()
			status, err := c.Do(request)
			if err != nil {
				return err
			}
			pause := pollAgain
			if status == http.StatusOK {
				t, err := readTicket(p.tickets[i].buyer, c.Answer.Body())
				if err != nil {
					return err
				}
				pause, p.tickets[i] = t.pollAfter, t
			}
			p.count(status == http.StatusOK, sent.Sub(p.dueAt[i]), time.Since(sent))
			p.dueAt[i] = time.Now().Add(pause)
			p.timers[i].Reset(pause)
		}
	}
}

func (p *pollers) count(wanted bool, late, latency time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.polls++
	if !wanted {
		p.unwanted++
	}
	p.seen.Add("latency", latency)
	p.seen.Add("late", late)
}
