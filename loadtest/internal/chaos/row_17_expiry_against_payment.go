package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/loadtest/internal/wait"
	"sluice/shared/client"
	"sluice/shared/sale"
)

const (
	raceOrders = 10_000
	raceUnits  = raceOrders * 95 / 100 // not enough for all who pay too late and a crowd
	raceAtOnce = 1000                  // orders on their way to their race
	raceRate   = 200                   // orders a second that set out: all at once would be no race for those behind
	raceBehind = 200                   // payments not yet applied, beyond which no more orders set out: late workers are no race
	raceCrowd  = 40                    // attempts a second of others, who do not pay
	raceHold   = 3 * time.Second
	raceSpread = 200 * time.Millisecond // of the payments, before and after the time to pay is over
	raceWindow = 500 * time.Millisecond // within which a payment must be stored before or after it to have raced
	raceLook   = 50 * time.Millisecond
	raceAgain  = 100 * time.Millisecond // until somebody else attempts, after a refusal
	raceFor    = time.Minute            // that orders set out for: a slow machine has fewer races
	raceWithin = time.Minute            // for the last of them

	// Buyers who race have numbers beyond those of the crowd.
	firstRacer = mostAttempts
)

// expiryAgainstPayment: each order ends in one of two ways, and both want it at once.
func expiryAgainstPayment() Row {
	return Row{
		ID: "17", Name: "expiry-against-payment", Bound: 30 * time.Second, Stack: Needs{Workers: "SLUICE_EXPIRE_EVERY=20ms"},
		Fault: "up to 10,000 orders a round, as many as two workers apply the payments of in a minute, are paid at the moment at which their time to pay " +
			"is over, some of them twice, some refunded at once",
		Expect: "one of the two wins; who has paid too late has one other order, or one refund owed",
		Run: func(ctx context.Context, r *Round) error {
			c := &race{Round: r, provider: r.provider(), under: make(chan struct{}, raceAtOnce)}
			defer c.provider.idle()
			r.outcome = c.pay
			if err := r.open(ctx, saleOf{units: raceUnits, hold: raceHold}); err != nil {
				return err
			}
			r.inject()
			r.attack(ctx, raceCrowd)
			if err := c.run(ctx); err != nil {
				return err
			}
			r.heal()
			if err := c.provider.recovered(ctx); err != nil {
				return err
			}
			r.load.lookAgain(ctx, c.paid.soFar())
			if err := c.count(ctx); err != nil {
				return err
			}
			return c.findReplacements(ctx)
		},
	}
}

// race is what the row keeps of its round.
type race struct {
	*Round
	provider *provider
	under    chan struct{} // one for each order on its way
	racers   atomic.Int64  // buyers who have attempted
	places   atomic.Int64  // races that somebody has attempted for, and was not refused
	behind   atomic.Int64  // payments that workers have not applied
	paid     several
}

// run has orders bought and paid for, so many at a time, for so long, until all are.
func (c *race) run(ctx context.Context) error {
	db, err := c.connect(ctx)
	if err != nil {
		return err
	}
	defer hangUp(db)
	setting, stop := context.WithTimeout(ctx, raceFor)
	defer stop()
	pace := time.NewTicker(time.Second / raceRate)
	defer pace.Stop()
	var buyers sync.WaitGroup
	for range senders {
		buyers.Go(func() { c.buy(setting, pace.C) })
	}
	unread := c.watch(setting, db)
	stop()
	buyers.Wait()
	return errors.Join(unread, c.until(ctx, raceWithin, "everybody on the way has paid", func() bool { return len(c.under) == 0 }))
}

// watch counts the payments that are not applied, as long as orders set out. Other sales of
// these stores have none under way.
func (c *race) watch(setting context.Context, db *pgx.Conn) error {
	ctx := context.WithoutCancel(setting) // what has begun is read to its end
	var before, stored, waiting int64
	const counting = `SELECT count(*), count(*) FILTER (WHERE applied_at IS NULL) FROM payments`
	err := db.QueryRow(ctx, counting).Scan(&before, &waiting)
	for err == nil && !c.full() && wait.For(setting, raceLook) {
		events, _ := c.provider.count()
		err = db.QueryRow(ctx, counting).Scan(&stored, &waiting)
		c.behind.Store(int64(events) - (stored - before) + waiting)
	}
	if err != nil {
		return fmt.Errorf("cannot count payments: %w", err)
	}
	return nil
}

// full reports whether every race has its payment.
func (c *race) full() bool { return c.paid.count() >= raceOrders }

// buy attempts for one buyer after the other.
func (c *race) buy(setting context.Context, due <-chan time.Time) {
	for {
		select {
		case <-due:
		case <-setting.Done():
			return
		}
		if c.behind.Load() > raceBehind || !c.take() {
			continue
		}
		if a := c.load.attempt(context.WithoutCancel(setting), firstRacer+int(c.racers.Add(1)), ""); a.Ticket.Ticket == "" {
			c.leave()
			wait.For(setting, raceAgain)
		}
	}
}

// take takes a place in a race, and on the way to it, if one is left.
func (c *race) take() bool {
	if c.places.Add(1) <= raceOrders {
		select {
		case c.under <- struct{}{}:
			return true
		default:
		}
	}
	c.places.Add(-1)
	return false
}

// leave is for who has no order to race with.
func (c *race) leave() {
	c.places.Add(-1)
	<-c.under
}

// pay pays for a racer's order at its end, or a moment before or after.
func (c *race) pay(ctx context.Context, b bought) {
	if b.buyer < firstRacer {
		return
	}
	if b.ticket.Status == sale.StatusRejected {
		c.leave()
		return
	}
	defer func() { <-c.under }()
	random := rand.New(rand.NewPCG(c.seed, uint64(b.buyer)))
	after := time.Duration(random.Int64N(2*int64(raceSpread))) - raceSpread
	wait.For(ctx, time.Until(b.ticket.PayBy.Add(after)))
	c.provider.tell(ctx, eventOf(sale.PaymentSucceeded, b.rid, 1))
	switch random.IntN(20) {
	case 0:
		c.provider.tell(ctx, eventOf(sale.PaymentSucceeded, b.rid, 2))
	case 1:
		c.provider.tell(ctx, eventOf(sale.RefundSucceeded, b.rid, 1))
	}
	c.load.look(ctx, b)
	c.paid.add(b)
}

// count counts the races by who has won.
func (c *race) count(ctx context.Context) error {
	var won, replaced, owed int
	err := c.query(ctx, `
		SELECT count(*) FILTER (WHERE p.result = 'paid'), count(*) FILTER (WHERE p.result = 'replaced'), count(*) FILTER (WHERE p.result = 'owed')
		FROM payments p JOIN orders o ON o.id = p.order_id
		WHERE o.sale_id = $1 AND p.type = 'payment.succeeded' AND p.event_id LIKE '%-1'
			AND abs(extract(epoch FROM p.received_at - o.created_at) - $2) <= $3`,
		[]any{c.saleID, raceHold.Seconds(), raceWindow.Seconds()}, &won, &replaced, &owed)
	if err != nil {
		return fmt.Errorf("cannot count races: %w", err)
	}
	if won == 0 || replaced+owed == 0 {
		c.fail("scenario", "%d payments won and %d lost: there was no race", won, replaced+owed)
	}
	c.hit(won+replaced+owed, "of %d payments %d were stored within %s of the end of their time to pay: %d won, %d lost and bought another order, %d lost and are owed",
		c.paid.count(), won+replaced+owed, raceWindow, won, replaced, owed)
	return nil
}

// findReplacements has buyers whose payment came too late ask for their tickets: the order
// that it bought is there.
func (c *race) findReplacements(ctx context.Context) error {
	s, err := c.state(ctx)
	if err != nil {
		return err
	}
	buyers := make(map[string]int)
	for _, b := range c.paid.soFar() {
		buyers[b.rid] = b.buyer
	}
	asked := 0
	for _, o := range s.Orders {
		buyer, known := buyers[o.Replaces]
		if asked == mostAsked || !known || o.State == string(sale.OrderExpired) { // another has taken the place of that one too
			continue
		}
		asked++
		reader, err := c.load.reader(buyer)
		if err != nil {
			return err
		}
		mine, err := reader.MyTickets(ctx, c.saleID)
		if err != nil {
			return fmt.Errorf("cannot ask for the tickets of %s: %w", c.user(buyer), err)
		}
		if !slices.ContainsFunc(mine, func(t client.Ticket) bool { return t.OrderID == o.ID }) {
			c.fail("I3", "%s has paid too late for order %s, has order %s, and finds these tickets: %v", c.user(buyer), o.Replaces, o.ID, mine)
		}
	}
	return nil
}
