package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"sluice/loadtest/internal/history"
	"sluice/loadtest/internal/wait"
	"sluice/shared/sale"
)

const (
	storied    = 400                    // orders of which a provider tells
	mostCopies = 4                      // of one event
	toldWithin = 200 * time.Millisecond // all of one order, in any order
)

// story is what a provider tells of one order, however often and in whatever order, and
// how many refunds are owed in the end.
type story struct {
	tells   []sale.PaymentType
	cancels bool // the buyer cancels the order meanwhile: it may be paid before or after
	owed    int
}

var stories = []story{
	{tells: []sale.PaymentType{sale.PaymentSucceeded}},
	{tells: []sale.PaymentType{sale.PaymentSucceeded, sale.PaymentSucceeded}, owed: 1},
	{tells: []sale.PaymentType{sale.PaymentFailed, sale.PaymentSucceeded, sale.PaymentFailed}},
	{tells: []sale.PaymentType{sale.RefundSucceeded, sale.PaymentSucceeded}},
	{tells: []sale.PaymentType{sale.RefundSucceeded, sale.PaymentSucceeded, sale.PaymentSucceeded}, owed: 1},
	{tells: []sale.PaymentType{sale.PaymentSucceeded}, cancels: true},
}

// webhookRepeated: the same news is no news, and news may overtake each other.
func webhookRepeated() Row {
	return Row{
		ID: "19", Name: "webhook-repeated", Bound: 20 * time.Second,
		Fault:  fmt.Sprintf("a provider tells of %d orders: up to %d times of each event, refunds before payments, payments twice under other ids", storied, mostCopies),
		Expect: "what is told again has no effect; a second payment is one refund owed",
		Run: func(ctx context.Context, r *Round) error {
			t := &teller{Round: r, provider: r.provider(), stories: make(map[string]story)}
			defer t.provider.idle()
			r.outcome = t.tell
			if err := r.open(ctx, saleOf{units: killUnits}); err != nil {
				return err
			}
			r.inject()
			r.attack(ctx, killRate)
			if err := r.until(ctx, time.Minute, "all is told", func() bool { return t.done.Load() == storied }); err != nil {
				return err
			}
			r.heal()
			if err := t.provider.recovered(ctx); err != nil {
				return err
			}
			r.load.lookAgain(ctx, t.orders.soFar())
			return t.wantOwed(ctx)
		},
	}
}

// teller is what the row keeps of its round.
type teller struct {
	*Round
	provider *provider
	begun    atomic.Int64
	done     atomic.Int64

	orders several

	mu      sync.Mutex
	stories map[string]story // by order
}

// tell tells one story of an order, each event by itself.
func (t *teller) tell(ctx context.Context, b bought) {
	if b.ticket.Status != sale.StatusConfirmed {
		return
	}
	n := t.begun.Add(1)
	if n > storied {
		return
	}
	defer t.done.Add(1)
	told := stories[n%int64(len(stories))]
	t.orders.add(b)
	t.mu.Lock()
	t.stories[b.rid] = told
	t.mu.Unlock()
	random := rand.New(rand.NewPCG(t.seed, uint64(b.buyer)))
	var telling sync.WaitGroup
	for i, what := range told.tells {
		e := eventOf(what, b.rid, i)
		for range 1 + random.IntN(mostCopies) {
			at := time.Duration(random.Int64N(int64(toldWithin)))
			telling.Go(func() {
				wait.For(ctx, at)
				t.provider.tell(ctx, e)
			})
		}
	}
	if told.cancels {
		wait.For(ctx, time.Duration(random.Int64N(int64(toldWithin))))
		t.tryToCancel(ctx, b)
	}
	t.load.look(ctx, b)
	telling.Wait()
	t.load.look(ctx, b)
}

// tryToCancel has a buyer cancel an order, which may be paid or over meanwhile.
func (r *Round) tryToCancel(ctx context.Context, b bought) {
	e := history.Event{Kind: history.Cancel, Sale: r.saleID, User: r.user(b.buyer), Order: b.rid, Began: r.journal.Now()}
	e.Status, _ = r.cancel(ctx, b.buyer, b.buyer, b.rid) // 0 for none
	e.Ended = r.journal.Now()
	r.journal.Add(e)
}

// wantOwed wants as many refunds owed as each story has, and notes what hit.
func (t *teller) wantOwed(ctx context.Context) error {
	s, err := t.state(ctx)
	if err != nil {
		return err
	}
	owed, doubled := make(map[string]int), 0
	for _, w := range s.Owed {
		owed[w.Order]++
	}
	for _, o := range s.Orders {
		told, storied := t.stories[o.ID]
		want := told.owed
		if told.cancels && o.State == "cancelled" {
			want = 1
		}
		if storied && owed[o.ID] != want {
			t.fail("I3", "order %s is %s, after %v: %d refunds are owed, not %d", o.ID, o.State, told.tells, owed[o.ID], want)
		}
		doubled += told.owed
	}
	overtaken, err := t.overtaken(ctx)
	if err != nil {
		return err
	}
	_, repeats := t.provider.count()
	if repeats == 0 || overtaken == 0 || doubled == 0 {
		t.fail("scenario", "%d events were told again, %d payments were overtaken, %d were doubled: each must be", repeats, overtaken, doubled)
	}
	t.hit(repeats+overtaken+doubled, "%d events were told again, %d payments were overtaken by their refunds, %d were doubled under another id", repeats, overtaken, doubled)
	return nil
}

// overtaken counts refunds that were stored before any payment of their order.
func (t *teller) overtaken(ctx context.Context) (n int, err error) {
	err = t.query(ctx, `
		SELECT count(*) FROM payments r JOIN orders o ON o.id = r.order_id
		WHERE o.sale_id = $1 AND r.type = 'refund.succeeded' AND NOT EXISTS (
			SELECT FROM payments p WHERE p.order_id = r.order_id AND p.type = 'payment.succeeded' AND p.received_at < r.received_at)`, []any{t.saleID}, &n)
	if err != nil {
		return 0, fmt.Errorf("cannot count refunds before payments: %w", err)
	}
	return n, nil
}
