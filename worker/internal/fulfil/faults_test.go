package fulfil

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/shared/sale"
	"sluice/worker/internal/pacing"
)

// shaky is a stream and a database that fail in every way a consumer knows. It notes of
// each copy of a hand-over that it has delivered whether it was answered.
type shaky struct {
	*script
	faulty bool

	mu       sync.Mutex
	rand     *rand.Rand
	waiting  []Delivery // to be fetched
	open     int        // copies that were delivered and not answered
	acked    map[uint64]int
	breaches []string
}

func (s *shaky) draw(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rand.IntN(n)
}

func (s *shaky) Fetch(limit int, wait time.Duration) ([]Delivery, error) {
	if s.faulty && s.draw(20) == 0 {
		return nil, errFault
	}
	s.mu.Lock()
	n := min(limit, len(s.waiting))
	got := make([]Delivery, n)
	for i, d := range s.waiting[:n] {
		d.Reply = &answer{stream: s, delivery: d}
		got[i] = d
	}
	s.waiting, s.open = s.waiting[n:], s.open+n
	s.mu.Unlock()
	if n == 0 {
		time.Sleep(wait)
	}
	return got, nil
}

func (s *shaky) Order(ctx context.Context, b Batch) ([]Verdict, error) {
	time.Sleep(time.Duration(1+s.draw(50)) * time.Millisecond)
	kind := 99
	if s.faulty {
		kind = s.draw(10)
	}
	switch kind {
	case 0:
		return nil, errFault
	case 1:
		return nil, fmt.Errorf("%w: busy", ErrOverloaded)
	case 2:
		return nil, fmt.Errorf("%w: stale", ErrRefused)
	case 3:
		return nil, &BeyondError{LastSeq: b.Sequences[s.draw(len(b.Sequences))], Cause: errFault}
	case 4:
		if len(b.Reservations) > 1 {
			return nil, ErrInvalid
		}
	}
	return s.script.Order(ctx, b)
}

func (s *shaky) Settle(ctx context.Context, saleID string, epoch int64, settlements []sale.Settlement) (sale.Snapshot, []sale.Settled, error) {
	time.Sleep(time.Duration(s.draw(100)) * time.Millisecond)
	return s.script.Settle(ctx, saleID, epoch, settlements)
}

// answer is that to one copy.
type answer struct {
	stream   *shaky
	delivery Delivery
	given    string
}

func (a *answer) give(what string) {
	a.stream.mu.Lock()
	defer a.stream.mu.Unlock()
	if a.given != "" {
		a.stream.breaches = append(a.stream.breaches, fmt.Sprintf("%d: %s after %s", a.delivery.Seq, what, a.given))
		return
	}
	a.given = what
	a.stream.open--
	if what == "ack" {
		a.stream.acked[a.delivery.Seq]++
	}
}

func (a *answer) Ack() error        { a.give("ack"); return nil }
func (a *answer) InProgress() error { return nil }

func (a *answer) NakAfter(pause time.Duration) error {
	a.give("nak")
	time.AfterFunc(pause, func() {
		a.stream.mu.Lock()
		defer a.stream.mu.Unlock()
		a.stream.waiting = append(a.stream.waiting, a.delivery)
	})
	return nil
}

// Whatever fails, while batches are in hand side by side: every copy of a hand-over is
// answered once, nothing is lost, and no turn stays taken.
func TestConsumer_WhateverFailsEveryDeliveryIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			const handOvers = 200
			s := &shaky{script: &script{}, rand: rand.New(rand.NewPCG(seed, 0)), faulty: true, acked: map[uint64]int{}}
			for i := range handOvers {
				s.waiting = append(s.waiting, delivery(uint64(i+1), 1+s.draw(250)))
			}
			s.consumeFor(t, time.Duration(1+s.draw(20_000))*time.Millisecond)
			s.consumeFor(t, 10*time.Second) // another worker goes on
			s.faulty = false
			s.consumeFor(t, time.Minute)
			if len(s.acked) != handOvers || len(s.waiting) != 0 {
				t.Errorf("seed %d: %d of %d acknowledged, %d left", seed, len(s.acked), handOvers, len(s.waiting))
			}
		})
	}
}

// consumeFor runs a consumer for a while, and looks at what it leaves behind.
func (s *shaky) consumeFor(t *testing.T, while time.Duration) {
	t.Helper()
	c := newTestConsumer(s.script)
	c.stores.Orders, c.stores.Stock = s, s
	c.stores.Consume = func(context.Context, string) (Source, error) { return s, nil }
	c.pacer = pacing.New(pacing.Config{Target: time.Second, Floor: 1e6, Ceiling: 1e6, ConsumersMax: c.cfg.Consumers}, time.Second, func() int64 { return 0 })
	ctx, cancel := context.WithTimeout(t.Context(), while)
	defer cancel()
	stopPacer := c.startPacer()
	c.run(ctx, t.Context())
	stopPacer()
	s.check(t, c)
}

func (s *shaky) check(t *testing.T, c *consumer) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.breaches) > 0 || s.open != 0 {
		t.Errorf("%d not answered, others twice: %v", s.open, s.breaches)
	}
	if len(c.keeper.hand) != 0 || c.inHand != 0 || c.ordering != 0 || c.pacer.State().InFlight != 0 {
		t.Errorf("%d kept, %d batches in hand, %d being ordered, %d in flight", len(c.keeper.hand), c.inHand, c.ordering, c.pacer.State().InFlight)
	}
	for seq, n := range s.acked {
		if n != 1 {
			t.Errorf("%d was acknowledged %d times", seq, n)
		}
	}
}
