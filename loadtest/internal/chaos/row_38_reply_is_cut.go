package chaos

import (
	"context"
	"time"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/wait"
	"sluice/shared/sale"
)

// cuts is how often replies are cut in a round.
const cuts = 20

// replyIsCut: the units are taken, and the gateway cannot know.
func replyIsCut() Row {
	return Row{
		ID: "38", Name: "reply-is-cut", Bound: 15 * time.Second, Stack: Needs{Proxied: true},
		Fault:  "Redis executes calls, and their connections end before the replies are there",
		Expect: "503; the same call, repeated, and the same buyer, who tries again, get the reservation that was stored: one unit each",
		Run: func(ctx context.Context, r *Round) error {
			if err := r.begin(ctx, killUnits, killRate); err != nil {
				return err
			}
			if err := r.cutReplies(ctx); err != nil {
				return err
			}
			if err := r.recovered(ctx); err != nil {
				return err
			}
			r.load.pause()
			return r.retryTheUnknowing(ctx)
		},
	}
}

// replyIsCutControl: what the client does not know to be done, it does again.
func replyIsCutControl() Row {
	return Row{
		ID: "38c", Name: "reply-is-cut-control", Bound: 15 * time.Second, Shows: []string{"I4 audit: Redis has", "I3 audit: Redis counts"},
		// A comparison of the stores could put it right.
		Stack:  Needs{Proxied: true, Mutation: "rid_check_off", Workers: "SLUICE_RECONCILE_EVERY=1h"},
		Fault:  "control: as 38, the client repeats calls by itself, as is its default, and the script does not know their reservations again",
		Expect: "each repeated call takes another unit, which no order holds: Redis has less in stock than Postgres",
		Run: func(ctx context.Context, r *Round) error {
			if err := r.begin(ctx, killUnits, killRate); err != nil {
				return err
			}
			if err := r.cutReplies(ctx); err != nil {
				return err
			}
			if err := r.recovered(ctx); err != nil {
				return err
			}
			r.load.pause()
			return r.countTwice(ctx)
		},
	}
}

// cutReplies ends connections to Redis while replies are under way, some times over.
func (r *Round) cutReplies(ctx context.Context) error {
	proxy := r.stack.Proxy("redis")
	defer proxy.Heal()
	r.inject()
	for range cuts {
		before := proxy.Lost()
		proxy.LoseReplies()
		if err := r.until(ctx, hitPatience, "a reply is lost", func() bool { return proxy.Lost() > before }); err != nil {
			return err
		}
		proxy.Heal() // closes what has lost something, before its client gives up on it
		wait.For(ctx, time.Duration(r.random.IntN(100))*time.Millisecond)
	}
	r.heal()
	return nil
}

// countTwice counts the units that were taken for reservations that had one.
func (r *Round) countTwice(ctx context.Context) error {
	tickets, err := r.ticketsInRedis(ctx)
	if err != nil {
		return err
	}
	s, err := r.snapshot(ctx)
	if err != nil {
		return err
	}
	r.hit(int(s.Accepted)-len(tickets), "%d units were taken for %d reservations", s.Accepted, len(tickets))
	return nil
}

// retryTheUnknowing has those whose attempt was executed, and not answered, find it.
func (r *Round) retryTheUnknowing(ctx context.Context) error {
	e, err := r.stores.Postgres.Entry(ctx, r.saleID)
	if err != nil {
		return err
	}
	executed := 0
	buyers := r.load.left()
	for _, buyer := range buyers {
		before, tickets, err := r.stores.Redis.TicketsOf(ctx, r.saleID, e.Epoch, r.user(buyer))
		if err != nil {
			return err
		}
		if len(tickets) == 0 {
			continue // the call never came to Redis
		}
		executed++
		if err := r.retryCall(ctx, e, before, *tickets[0]); err != nil {
			return err
		}
		r.retryAttempt(ctx, buyer, tickets[0].RID)
	}
	r.hit(executed, "%d attempts of %d without a certain answer were executed", executed, len(buyers))
	return nil
}

// retryCall repeats the call of the script that made a reservation.
func (r *Round) retryCall(ctx context.Context, e sale.Entry, before sale.Snapshot, t sale.Ticket) error {
	after, decisions, err := r.stores.Redis.Reserve(ctx, r.saleID, e.Epoch, []sale.Attempt{{RID: t.RID, UserID: t.UserID, Key: t.Key}})
	if err != nil {
		return err
	}
	if d := decisions[0]; d.Code != sale.DecidedAccepted || d.Ticket.Rank != t.Rank || d.Ticket.Slot != t.Slot {
		r.fail("I4", "the call that made %+v, repeated, decides %+v", t, d)
	}
	if after.Stock != before.Stock || after.Accepted != before.Accepted {
		r.fail("I4", "the call that made reservation %s, repeated, moves the stock from %d to %d", t.RID, before.Stock, after.Stock)
	}
	return nil
}

// retryAttempt has the buyer of a reservation try again.
func (r *Round) retryAttempt(ctx context.Context, buyer int, rid string) {
	a := r.load.attempt(ctx, buyer, "")
	found, err := attack.RID(a.Ticket.Ticket)
	if err != nil || found != rid || a.Outcome != sale.Replay.String() {
		r.fail("I4", "%s has reservation %s, tries again, and is answered %s with %q: %v", r.user(buyer), rid, a.Outcome, found, err)
	}
}
