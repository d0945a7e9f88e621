package compare

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/wait"
	"sluice/shared/sale"
)

const (
	// clickTimeout is a claimer's patience with one request.
	clickTimeout = 3 * time.Second
	// mostTries bounds the requests of one click. A claimer who never gets an answer is
	// in the report.
	mostTries = 20
	// tryPause is how long a claimer waits, about, who was told to come back.
	tryPause = 100 * time.Millisecond
)

// crowd is claimers who come at once. The same crowd comes to every system.
type crowd struct {
	claimers, clicks int
	templates        []Sale
	urls             []string // of gateways or instances
	token            func(claimer int) string
	tally            *tally
}

// run sends every click of every claimer and returns once all are answered.
func (c crowd) run(ctx context.Context) {
	attacker := attack.New(attack.Config{Connections: c.connections(), Timeout: clickTimeout})
	defer attacker.Close()
	var start, clicked sync.WaitGroup
	start.Add(1)
	for claimer := range c.claimers {
		clicked.Go(func() {
			start.Wait()
			c.claim(ctx, attacker, claimer)
		})
	}
	start.Done()
	clicked.Wait()
}

// oneInAtOnce is how many claimers there are for one who clicks without waiting.
const oneInAtOnce = 4

// connections to each URL: together one for each click that may be under way.
func (c crowd) connections() int {
	atOnce := c.claimers / oneInAtOnce
	return (c.claimers + atOnce*(c.clicks-1) + len(c.urls) - 1) / len(c.urls)
}

// claim clicks at one template after the other: every other claimer begins with the
// last.
func (c crowd) claim(ctx context.Context, attacker *attack.Attacker, claimer int) {
	templates := c.templates
	if claimer%2 == 1 {
		templates = slices.Clone(templates)
		slices.Reverse(templates)
	}
	for _, t := range templates {
		c.clickAt(ctx, attacker, t, claimer)
	}
}

// clickAt clicks at one template: most claimers wait for each answer, the others do not.
func (c crowd) clickAt(ctx context.Context, attacker *attack.Attacker, t Sale, claimer int) {
	if claimer/2%oneInAtOnce != 0 {
		for click := range c.clicks {
			c.click(ctx, attacker, t, claimer, click)
		}
		return
	}
	var clicks sync.WaitGroup
	for click := range c.clicks {
		clicks.Go(func() { c.click(ctx, attacker, t, claimer, click) })
	}
	clicks.Wait()
}

// click sends a request, and the same to the next URL after a time without answer or
// after a 503.
func (c crowd) click(ctx context.Context, attacker *attack.Attacker, t Sale, claimer, click int) {
	began := time.Now()
	for try := range mostTries {
		url := c.urls[(claimer+click+try)%len(c.urls)]
		a := attacker.Send(attack.Shot{URL: url + "/v1/sales/" + t.ID + "/orders", Token: c.token(claimer), Key: keyOf(t, click)})
		stands := a.Outcome != attack.OutcomeFault && !passing(a.Outcome)
		a.Latency = time.Since(began)
		c.tally.answered(t, claimer, try, a, stands || try == mostTries-1)
		if stands || ctx.Err() != nil {
			return
		}
		if passing(a.Outcome) && !wait.For(ctx, tryPause/2+rand.N(tryPause)) {
			return
		}
	}
}

// keyOf tells the coupons apart that a claimer may have, as the Idempotency-Key does: a
// claimer who may have one sends none.
func keyOf(t Sale, click int) string {
	if t.Limit < 2 {
		return ""
	}
	return fmt.Sprintf("coupon-%d", click%t.Limit+1)
}

// passing outcomes say to come back.
func passing(outcome string) bool {
	return outcome == sale.Busy.String() || outcome == sale.Unavailable.String()
}
