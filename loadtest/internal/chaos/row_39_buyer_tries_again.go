package chaos

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/wait"
	"sluice/shared/sale"
)

const (
	againUnits   = 300
	triedAgain   = 2 * againUnits // some of them more than once
	againHold    = 2 * time.Second
	againEvery   = 100 * time.Millisecond
	againWithin  = 20 * time.Second // a crowd wants the same units
	againBetween = 60 * time.Second
)

// buyerTriesAgain: what is over is over, and what is new is new.
func buyerTriesAgain() Row {
	return Row{
		ID: "39", Name: "buyer-tries-again", Short: true, Bound: 15 * time.Second,
		Fault:  "buyers try again, and again, from before the end of their time to pay on, in a sale that is sold out to a crowd",
		Expect: "they get nothing while they have a unit, then a new reservation; the old ticket still answers expired, and so does its idempotency key",
		Run: func(ctx context.Context, r *Round) error {
			a := &again{Round: r}
			r.outcome = a.try
			if err := r.open(ctx, saleOf{units: againUnits, hold: againHold}); err != nil {
				return err
			}
			r.inject()
			r.attack(ctx, killRate)
			if err := r.until(ctx, againBetween, "buyers have bought again", a.enough); err != nil {
				return err
			}
			r.heal()
			if err := r.recovered(ctx); err != nil {
				return err
			}
			// While the crowd takes every unit at once, an attempt may be told that all is sold before its key is looked at.
			r.load.pause()
			if err := r.until(ctx, againBetween, "the key of every expired order is answered with it", func() bool { return a.byKeys(ctx) }); err != nil {
				return err
			}
			r.hit(int(a.bought.Load()), "%d times a buyer got another reservation, after %d attempts that got them none; %d attempts under old keys were told of what they had got",
				a.bought.Load(), a.inVain.Load(), a.byKey.Load())
			r.load.lookAgain(ctx, a.old.soFar())
			return nil
		},
	}
}

// again is what the row keeps of its round.
type again struct {
	*Round
	tried  atomic.Int64 // that gives keys their numbers
	bought atomic.Int64 // once more
	inVain atomic.Int64 // attempts that got nothing new
	keyed  atomic.Int64 // of them whose expired order was made under a key
	byKey  atomic.Int64 // attempts under the key of an expired order that were told of it
	old    several
}

// enough reports whether the row has seen what it wants to.
func (a *again) enough() bool { return a.bought.Load() >= triedAgain && a.keyed.Load() > 0 }

// try has a buyer try again from shortly before the order expires, until there is another
// reservation, or there are enough of them.
func (a *again) try(ctx context.Context, b bought) {
	if b.ticket.Status != sale.StatusConfirmed {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Until(b.ticket.PayBy)+againWithin)
	defer cancel()
	key := ""
	if n := a.tried.Add(1); n%2 == 0 {
		key = fmt.Sprintf("again-%d", n)
	}
	wait.For(ctx, time.Until(b.ticket.PayBy)-2*againEvery)
	for !a.enough() && wait.For(ctx, againEvery) {
		got := a.load.attempt(ctx, b.buyer, key)
		rid := b.rid
		if got.Ticket.Ticket != "" {
			var err error
			if rid, err = attack.RID(got.Ticket.Ticket); err != nil {
				return // it is a violation already
			}
		}
		if rid != b.rid {
			a.bought.Add(1)
			a.wantExpired(ctx, b)
			return
		}
		a.inVain.Add(1)
	}
}

// wantExpired holds the old ticket against what it must show now, and tries the key that it
// was made under.
func (a *again) wantExpired(ctx context.Context, b bought) {
	if got := a.load.look(ctx, b); got != sale.StatusExpired {
		a.fail("I2", "%s has a new reservation, and the old ticket of %s shows %s", a.user(b.buyer), b.rid, got)
	}
	a.old.add(b)
	if b.key != "" {
		a.keyed.Add(1)
		a.wantByKey(ctx, b)
	}
}

// byKeys has every key that was made with tried once more, and reports whether each was
// answered with the order it belongs to.
func (a *again) byKeys(ctx context.Context) bool {
	for _, b := range a.old.soFar() {
		if b.key != "" && !a.wantByKey(ctx, b) {
			return false
		}
	}
	return true
}

// wantByKey tries under the key of an expired order, and reports whether the answer was
// about that order. That all is sold may be answered first.
func (a *again) wantByKey(ctx context.Context, b bought) bool {
	got := a.load.attempt(ctx, b.buyer, b.key)
	if got.Outcome != sale.Replay.String() {
		return false
	}
	a.byKey.Add(1)
	if rid, err := attack.RID(got.Ticket.Ticket); err != nil || rid != b.rid || got.Ticket.Status != sale.StatusExpired {
		a.fail("I2", "%s tried again under the key of reservation %s, and was answered with %s, %s: %v", a.user(b.buyer), b.rid, rid, got.Ticket.Status, err)
	}
	return true
}
