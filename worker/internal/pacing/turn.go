package pacing

import (
	"context"
	"slices"
	"time"
)

// Turn is one transaction of a batch, which may begin.
type Turn struct {
	pacer   *Pacer
	line    *line
	granted chan struct{}
	orders  int

	began   time.Time
	charged float64 // of the pace
	more    bool    // than the first transaction of the batch
}

// Turn waits until it is the sale's turn, for a batch of about so many orders. Of one
// sale only one may wait, beside those that wait for another one. An error is the context's.
func (p *Pacer) Turn(ctx context.Context, saleID string, orders int) (*Turn, error) {
	t := &Turn{pacer: p, granted: make(chan struct{}), orders: orders}
	p.mu.Lock()
	t.line = p.turns.line(saleID)
	t.line.waiting = t
	p.dispatch(time.Now())
	p.mu.Unlock()
	select {
	case <-t.granted:
		return t, nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	waits := t.line.waiting == t
	if waits {
		t.line.waiting = nil
		p.dispatch(time.Now())
	}
	p.mu.Unlock()
	if !waits { // it has come all the same
		t.Done()
	}
	return nil, ctx.Err()
}

// Pay says how many orders the batch has after all. A batch that grew while it waited
// costs more.
func (t *Turn) Pay(orders int) {
	p := t.pacer
	p.mu.Lock()
	defer p.mu.Unlock()
	if more := Cost(orders) - t.charged; more > 0 {
		p.charge(time.Now(), more)
		t.line.correct(more)
		t.charged += more
	}
}

// Ended records one transaction of the batch that ended well.
func (t *Turn) Ended(began time.Time, orders int) {
	t.record(began, ended{of: orders, made: orders})
}

// Refused records one that was refused for what some of the orders are.
func (t *Turn) Refused(began time.Time, orders int) { t.record(began, ended{of: orders}) }

// Failed records one that the database had no time or no connection for.
func (t *Turn) Failed(began time.Time) { t.record(began, ended{failed: true}) }

// ended is what became of a transaction.
type ended struct {
	of, made int // orders
	failed   bool
}

func (t *Turn) record(began time.Time, e ended) {
	p := t.pacer
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	s := Sample{Began: began, Latency: now.Sub(began), Cost: Cost(e.of), Failed: e.failed, Extra: t.more}
	p.usage.orders += e.made
	if !e.failed && s.Latency <= p.controller.state.Target {
		t.line.wellAt = now
	}
	if s.Latency <= p.hang() || !p.turns.alone(t.line, began) {
		p.controller.Ended(now, s)
	}
	p.tick(now)
}

// Again gives the turn back and waits for another one, for one more transaction of the
// batch, of so many orders: a batch that is halved must not run up a debt that other sales
// have to wait for. An error is the context's; Done is due all the same.
func (t *Turn) Again(ctx context.Context, orders int) error {
	p := t.pacer
	p.mu.Lock()
	now := time.Now()
	p.end(now, t)
	t.granted, t.orders, t.more = make(chan struct{}), orders, true
	t.line.halved = append(t.line.halved, t)
	p.dispatch(now)
	p.mu.Unlock()
	select {
	case <-t.granted:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(t.line.halved, t); i >= 0 {
		t.line.halved = slices.Delete(t.line.halved, i, i+1)
		p.dispatch(time.Now())
	}
	return ctx.Err()
}

// Done gives the turn back. The batch may have more to do, but not in Postgres.
func (t *Turn) Done() {
	p := t.pacer
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.end(now, t)
	p.dispatch(now)
}

// end takes a turn out of those in flight, if it is there.
func (p *Pacer) end(now time.Time, t *Turn) {
	if _, running := t.line.running[t]; running { // not one that gave up waiting for another turn
		t.line.hung = now.Sub(t.began) > p.hang() && p.turns.alone(t.line, t.began)
	}
	delete(t.line.running, t)
	t.line.seenAt = now
	if _, ok := p.draining[t]; ok {
		if delete(p.draining, t); len(p.draining) == 0 {
			p.spend(now)
		}
	}
}
