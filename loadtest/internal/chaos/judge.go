package chaos

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/loadtest/internal/history"
)

const (
	usualPatience = 60 * time.Second // for the stores, once everybody knows their outcome
	readWithin    = 30 * time.Second // of all rows of a sale
)

// always are the invariants that every round is held against: all but I8 and I9 by the
// history, I1 to I8 by the audit, I9 by the recovery and the rest after it.
var always = []string{"I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8", "I9"}

// heldAgainst are the invariants that the round was held against, once it was: I9 only if
// it came to a recovery.
func (r *Round) heldAgainst() []string {
	if !r.judged {
		return []string{}
	}
	held := append(slices.Clone(always), strings.Fields(r.row.Also)...)
	if r.recovery == 0 {
		held = slices.DeleteFunc(held, func(name string) bool { return name == "I9" })
	}
	return held
}

// spoken is what an error of a row speaks against.
func spoken(err error) string {
	if errors.Is(err, errNotRecovered) && errors.Is(err, errNot) {
		return "I9"
	}
	return "scenario"
}

// judge ends the load and holds the round against the invariants: by the history, whose
// checker knows none of our code, and by the audit, which reads all three stores.
func (r *Round) judge(ctx context.Context) error {
	r.load.end()
	defer r.load.buyers.Close()
	_, verdict, err := r.stores.Audit(ctx, r.saleID, r.load.winners.Seen(), r.patience)
	if err != nil {
		return err
	}
	if !verdict.AtRest {
		r.fail("I9", "the sale is not at rest %s after the last outcome", r.patience)
	}
	for _, v := range verdict.Violations {
		r.fail(v.Invariant, "audit: %s", v.Detail)
	}
	if err := r.journal.Close(); err != nil {
		return err
	}
	events, err := history.ReadEvents(bytes.NewReader(r.text.Bytes()))
	if err != nil {
		return err
	}
	state, err := r.state(ctx)
	if err != nil {
		return err
	}
	for _, v := range history.Check(events, state, r.mayReject) {
		r.fail(v.Invariant, "history: %s", v.Detail)
	}
	for _, check := range r.checks {
		check(events)
	}
	if r.graceful {
		r.wantAnswered(state)
	}
	if err := r.askTheUnknowing(ctx, state); err != nil {
		return err
	}
	if err := r.wantDeadLetters(ctx); err != nil {
		return err
	}
	r.judged = true
	if r.hits <= 0 {
		r.fail("scenario", "the fault hit nothing: the round has shown nothing")
	}
	return nil
}

// state is what Postgres ended with.
func (r *Round) state(ctx context.Context) (s history.State, err error) {
	err = r.reading(ctx, func(ctx context.Context, db *pgx.Conn) (err error) {
		s, err = history.ReadState(ctx, db, []string{r.saleID})
		return err
	})
	return s, err
}

// wantDeadLetters wants those that the row leaves, and no others.
func (r *Round) wantDeadLetters(ctx context.Context) error {
	n, err := r.deadLetters(ctx)
	if err == nil && n != r.row.DeadLetters {
		r.fail("I3", "the sale has %d dead letters, not %d", n, r.row.DeadLetters)
	}
	return err
}

func (r *Round) deadLetters(ctx context.Context) (int64, error) {
	return r.count(ctx, `SELECT count(*) FROM dead_letters WHERE sale_id = $1`, r.saleID)
}

// wantAnswered wants no order of an attempt whose connection broke before the answer. That
// of one that its gateway never read may break: it was idle when the gateway ended.
func (r *Round) wantAnswered(s history.State) {
	ordered := make(map[string]string, len(s.Orders))
	for _, o := range s.Orders {
		ordered[o.User] = o.ID
	}
	for buyer, err := range r.load.broken() {
		if id, ok := ordered[r.user(buyer)]; ok {
			r.fail("I3", "%s has order %s, and its attempt was broken off: %v", r.user(buyer), id, err)
		}
	}
}
