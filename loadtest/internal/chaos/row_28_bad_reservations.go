package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/history"
	"sluice/shared/jetqueue"
	"sluice/shared/sale"
)

// What is bad in row 28.
const (
	badBuyers    = 10
	unreadable   = 3
	badBacklog   = 600 // attempts accepted while no worker runs, the bad ones among them
	badFromIndex = 100 // of the first attempt that may be bad: those before are under way
)

// badReservations: what is bad is set aside, and nothing that came with it.
func badReservations() Row {
	return Row{
		ID: "28", Name: "bad-reservations", Bound: 20 * time.Second, DeadLetters: badBuyers + unreadable,
		Fault: fmt.Sprintf("Postgres refuses %d of %d reservations of a backlog for what they are; of another hand-over only a part is left, which nobody can read, and two messages never were any",
			badBuyers, badBacklog),
		Expect: "batches are halved until the bad ones stand alone; these and the unreadable messages are dead letters, the bad ones are rejected and their units go back; " +
			"all others are ordered, those of the unreadable hand-over too",
		Run: func(ctx context.Context, r *Round) error {
			if err := r.begin(ctx, killUnits, killRate); err != nil {
				return err
			}
			bad := r.drawBuyers()
			r.mayReject = func(o history.Order) bool { return o.Reason == "invalid" && r.isOf(o, bad) }
			allow, err := r.refuse(ctx, bad)
			defer allow() // it may be there though the answer was lost
			if err != nil {
				return err
			}
			r.inject()
			if err := r.backlogWithRubbish(ctx); err != nil {
				return err
			}
			err = r.until(ctx, hitPatience, "what is bad is set aside", func() bool {
				n, err := r.deadLetters(ctx)
				return err == nil && n == badBuyers+unreadable
			})
			if err != nil {
				return err
			}
			r.heal()
			if err := r.recovered(ctx); err != nil {
				return err
			}
			return r.onlyTheBad(ctx, bad)
		},
	}
}

// drawBuyers draws buyers who have not tried yet.
func (r *Round) drawBuyers() (bad []int) {
	first := int(r.load.accepted.Load()) + badFromIndex
	for _, i := range r.random.Perm(badBacklog - 2*badFromIndex)[:badBuyers] {
		bad = append(bad, first+i)
	}
	return bad
}

// refuse has Postgres take no order of these buyers, until allow, which may be called more
// than once.
func (r *Round) refuse(ctx context.Context, bad []int) (allow func(), err error) {
	const name = "orders_of_a_bad_buyer"
	list := ""
	for _, buyer := range bad {
		list += fmt.Sprintf(", '%s'", r.user(buyer))
	}
	// Rows that are there already are not looked at.
	err = r.execute(ctx, `ALTER TABLE orders ADD CONSTRAINT `+name+` CHECK (state = 'rejected' OR user_id NOT IN (`+list[2:]+`)) NOT VALID`)
	return func() {
		if err := r.execute(context.WithoutCancel(ctx), `ALTER TABLE orders DROP CONSTRAINT IF EXISTS `+name); err != nil {
			r.fail("scenario", "%v", err)
		}
	}, err
}

// backlogWithRubbish stops the workers, so that what is bad meets others in a batch, and has
// rubbish among what they find when they start.
func (r *Round) backlogWithRubbish(ctx context.Context) (err error) {
	start, err := r.stack.StopWorkers()
	running := false
	defer func() {
		if !running {
			err = errors.Join(err, start())
		}
	}()
	if err != nil {
		return err
	}
	if err := r.accepting(ctx, r.load.accepted.Load()+badBacklog); err != nil {
		return err
	}
	if err := r.spoil(ctx); err != nil {
		return err
	}
	running = true
	return start()
}

// spoil leaves a part of the newest hand-over, and adds messages that are none.
func (r *Round) spoil(ctx context.Context) error {
	js, hangUp, err := r.jetStream()
	if err != nil {
		return err
	}
	defer hangUp()
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	stream, err := js.Stream(ctx, streamName)
	if err != nil {
		return fmt.Errorf("cannot open stream: %w", err)
	}
	newest, err := stream.GetLastMsgForSubject(ctx, r.subject())
	if err != nil {
		return fmt.Errorf("cannot read hand-over: %w", err)
	}
	h, err := jetqueue.Decode(newest.Header, newest.Subject, newest.Data)
	if err != nil {
		return err
	}
	if err := stream.DeleteMsg(ctx, newest.Sequence); err != nil {
		return fmt.Errorf("cannot remove hand-over: %w", err)
	}
	noise := make([]byte, 1+r.random.IntN(1000))
	for i := range noise {
		noise[i] = byte(r.random.UintN(256))
	}
	for _, m := range []nats.Msg{
		{Header: newest.Header, Data: newest.Data[:r.random.IntN(len(newest.Data))]},
		{Header: newest.Header, Data: noise},
		{Data: slices.Concat(noise, noise)}, // of no schema
	} {
		m.Subject = r.subject()
		if _, err := js.PublishMsg(ctx, &m, jetstream.WithExpectStream(streamName)); err != nil {
			return fmt.Errorf("cannot publish what nobody can read: %w", err)
		}
	}
	r.hit(1, "a hand-over with %d reservations was cut to what nobody can read", len(h.Reservations))
	return nil
}

// isOf reports whether an order is of one of these buyers.
func (r *Round) isOf(o history.Order, buyers []int) bool {
	return slices.ContainsFunc(buyers, func(buyer int) bool { return o.User == r.user(buyer) })
}

// onlyTheBad wants the bad ones rejected, set aside and given back, and nobody else.
func (r *Round) onlyTheBad(ctx context.Context, bad []int) error {
	for _, w := range r.load.winners.All() {
		isBad, rejected := slices.Contains(bad, w.Buyer), w.Last() == sale.StatusRejected
		if rejected != isBad && w.Last() != sale.StatusQueued {
			r.fail("I3", "reservation %s of %s is %s", w.RID, r.user(w.Buyer), w.Last())
		}
	}
	users := make([]string, len(bad)) // not all of whom need have had an answer
	for i, buyer := range bad {
		users[i] = r.user(buyer)
	}
	for what, sql := range map[string]string{
		"dead letters of bad reservations": `SELECT count(*) FROM dead_letters d JOIN orders o ON o.id = d.rid WHERE d.sale_id = $1 AND o.user_id = ANY($2)`,
		"bad reservations rejected":        `SELECT count(*) FROM orders WHERE sale_id = $1 AND user_id = ANY($2) AND state = 'rejected' AND reason = 'invalid'`,
		"units given back":                 `SELECT count(*) FROM releases g JOIN orders o ON o.id = g.rid WHERE g.sale_id = $1 AND o.user_id = ANY($2) AND g.reason = 'invalid' AND g.give = 1`,
	} {
		n, err := r.count(ctx, sql, r.saleID, users)
		if err != nil {
			return err
		}
		if n != badBuyers {
			r.fail("I5", "%s: %d of %d", what, n, badBuyers)
		}
	}
	refused, err := r.refusedTransactions(ctx)
	if refused <= badBuyers {
		r.fail("scenario", "%.0f transactions were refused: the bad ones stood alone from the start", refused)
	}
	r.hit(badBuyers, "%d reservations were refused, by %.0f transactions, until they stood alone", badBuyers, refused)
	return err
}

// refusedTransactions are the order transactions that ended without a batch decided.
func (r *Round) refusedTransactions(ctx context.Context) (n float64, err error) {
	for i := range workers {
		w, err := collect.ReadWorker(ctx, r.stack.Info().Workers[i].AdminURL)
		if err != nil {
			return n, err
		}
		n += w.Commits.Count - w.Batches.Count
	}
	return n, nil
}
