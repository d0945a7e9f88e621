package chaos

import (
	"context"
	"fmt"
	"maps"
	"time"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/wait"
	"sluice/shared/sale"
)

// nothingToSell: who comes when there is nothing is told so, and leaves nothing behind.
func nothingToSell() Row {
	return Row{
		ID: "32", Name: "nothing-to-sell", Bound: 5 * time.Second,
		Fault:  "attempts at a sale before it opens and after it has closed, and at one with a total of 0, with idempotency keys and without",
		Expect: "not open, closed, sold out, and nothing else; no key in Redis; it sells once it opens",
		Run:    func(ctx context.Context, r *Round) error { return r.sellsInItsTimeAlone(ctx) },
	}
}

const (
	opensAfter  = 12 * time.Second // the sales file is written: early attempts are under way by then
	openFor     = 6 * time.Second
	refusalsAre = 200 // of each sort
)

func (r *Round) sellsInItsTimeAlone(ctx context.Context) error {
	empty := r.saleID + "-empty"
	if err := r.openAs(ctx, empty, saleOf{}); err != nil {
		return err
	}
	r.inject()
	if err := r.soldOutFromTheBegin(ctx, empty); err != nil {
		return err
	}
	opens := in(opensAfter)
	if err := r.open(ctx, saleOf{units: killUnits, opens: opens, closes: opens.Add(openFor)}); err != nil {
		return err
	}
	was, err := r.keys(ctx)
	if err != nil {
		return err
	}
	r.attack(ctx, killRate)
	if err := r.refusedAs(ctx, sale.NotOpen, was); err != nil {
		return err
	}
	wait.For(ctx, time.Until(opens))
	r.healAt(opens)
	if err := r.recovered(ctx); err != nil {
		return err
	}
	if err := r.over(ctx); err != nil {
		return err
	}
	_, verdict, err := r.stores.Audit(ctx, empty, nil, r.patience)
	for _, v := range verdict.Violations {
		r.fail(v.Invariant, "audit of the sale without units: %s", v.Detail)
	}
	return err
}

// refusedAs waits until that many more attempts got an outcome, and wants all others to
// have none, and Redis to have the same keys as before.
func (r *Round) refusedAs(ctx context.Context, outcome sale.Outcome, was map[string]int64) error {
	before := r.load.allAnswers()
	enough := func() bool { return r.load.answers(outcome.String())-before[outcome.String()] >= refusalsAre }
	if err := r.until(ctx, hitPatience, fmt.Sprintf("%d attempts are refused as %s", refusalsAre, outcome), enough); err != nil {
		return err
	}
	r.hit(refusalsAre, "%d attempts were refused as %s", refusalsAre, outcome)
	for other, n := range r.load.allAnswers() {
		if n > before[other] && other != outcome.String() {
			r.fail("I11", "%d attempts were answered %s, not %s", n-before[other], other, outcome)
		}
	}
	return r.wantKeys(ctx, was)
}

// soldOutFromTheBegin attempts to buy where there was never anything.
func (r *Round) soldOutFromTheBegin(ctx context.Context, saleID string) error {
	was, err := r.keys(ctx)
	if err != nil {
		return err
	}
	attacker := attack.New(attack.Config{Connections: senders, Timeout: answerTimeout})
	defer attacker.Close()
	for i := range refusalsAre {
		shot := attack.Shot{URL: r.gateway(i) + "/v1/sales/" + saleID + "/orders", Token: r.token(i)}
		if i%2 == 0 {
			shot.Key = fmt.Sprintf("key-%d", r.random.Uint64())
		}
		if a := attacker.Send(shot); a.Outcome != sale.SoldOut.String() {
			r.fail("I11", "an attempt at a sale without units was answered %s: %v", a.Outcome, a.Err)
		}
	}
	r.hit(refusalsAre, "%d attempts at a sale without units were told that it is sold out", refusalsAre)
	return r.wantKeys(ctx, was)
}

// over waits for the end of the sale, and until what was accepted has its outcome, and has
// more attempts refused.
func (r *Round) over(ctx context.Context) error {
	closed := func() bool { return r.load.answers(sale.OutOfWindow.String()) > 0 && r.load.undecided() == 0 }
	if err := r.until(ctx, openFor+hitPatience, "the sale has closed", closed); err != nil {
		return err
	}
	var was map[string]int64
	settled := func() bool {
		before := was
		var err error
		was, err = r.keys(ctx)
		return err == nil && maps.Equal(before, was)
	}
	if err := r.until(ctx, hitPatience, "Redis stands still", settled); err != nil {
		return err
	}
	return r.refusedAs(ctx, sale.OutOfWindow, was)
}

// wantKeys wants Redis to have these keys, of these sizes.
func (r *Round) wantKeys(ctx context.Context, was map[string]int64) error {
	is, err := r.keys(ctx)
	if err != nil {
		return err
	}
	for key, size := range is {
		if size != was[key] {
			r.fail("I11", "refused attempts have changed key %s: it had %d entries, and has %d", key, was[key], size)
		}
	}
	return nil
}
