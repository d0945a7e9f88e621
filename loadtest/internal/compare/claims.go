package compare

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/pacer"
	"sluice/loadtest/internal/record"
	"sluice/shared/sale"
)

const (
	claimConns    = 1024             // claims under way at most: one that is due beyond waits, and its latency says so
	attackTimeout = 10 * time.Second // of one request
	attackLead    = 200 * time.Millisecond
	claimsSeed    = 20261201
)

// Phases of the hot template; the others are in stock throughout.
const (
	inStock = "in_stock"
	soldOut = "sold_out"
)

// stage is the claims of one rate in one round: an open loop, in which each claim is
// sent when it is due, however late the answers are.
type stage struct {
	rate, round int
	templates   []Sale                    // the first is the hot one
	latencies   map[string]record.Summary // by phase and outcome
	late        attack.Lateness
	faults      int    // claims without an answer, or with a 503
	fault       string // the last
	f           figures
}

// everyStage takes the latencies of every rate in every round.
func (r *run) everyStage(ctx context.Context, rounds int) error {
	t, cold := newTally(sluiceName, &r.latencies), r.Claims.cold()
	if err := r.open(ctx, "claims.yaml", cold); err != nil {
		return err
	}
	for n := range rounds {
		for _, rate := range r.Claims.Rates {
			if err := r.claims(ctx, n, rate, t); err != nil {
				return fmt.Errorf("claims, round %d, %d a second: %w", n+1, rate, err)
			}
		}
		r.Claims.Rounds++
	}
	for _, at := range cold {
		if _, err := r.judge(ctx, at, t); err != nil {
			return err
		}
	}
	return nil
}

// claims runs one stage, and judges its hot template as those of a round.
func (r *run) claims(ctx context.Context, round, rate int, t *tally) error {
	hot := r.Claims.hotOf(round, rate)
	s := stage{rate: rate, round: round, templates: append([]Sale{hot}, r.Claims.cold()...), f: make(figures)}
	if err := r.open(ctx, hot.ID+".yaml", s.templates[:1]); err != nil {
		return err
	}
	if err := r.size(ctx, s); err != nil {
		return err
	}
	r.send(ctx, &s, t)
	if err := r.follow(ctx, t); err != nil {
		return err
	}
	if _, err := r.judge(ctx, hot, t); err != nil {
		return err
	}
	r.tell(s)
	r.rounds = append(r.rounds, s.f)
	return nil
}

// claim is one of a stage.
type claim struct{ user, template, gateway int }

// draw makes the stage's claims; the same ones each time.
func (r *run) draw(s stage, n int) []claim {
	random := rand.New(rand.NewPCG(claimsSeed, uint64(s.rate+s.round)))
	claims := make([]claim, n)
	for i := range claims {
		claims[i] = claim{user: random.IntN(r.Claims.Users), gateway: random.IntN(len(r.Stack.Gateways))}
		if random.Float64() >= r.Claims.HotShare && len(s.templates) > 1 {
			claims[i].template = 1 + random.IntN(len(s.templates)-1)
		}
	}
	return claims
}

// send sends the stage's claims when they are due.
func (r *run) send(ctx context.Context, s *stage, t *tally) {
	warm := int(r.Claims.Warm.Seconds() * float64(s.rate))
	claims := r.draw(*s, warm+int(r.Claims.Stage.Seconds()*float64(s.rate)))
	urls := r.gateways()
	attacker := attack.New(attack.Config{Connections: claimConns, Timeout: attackTimeout})
	defer attacker.Close()
	var (
		gone      atomic.Int64 // unix ns of the first sold-out answer of the hot template
		latencies record.Latencies
		mu        sync.Mutex
	)
	s.late = attacker.Run(ctx, attack.Plan{
		Attempts: len(claims), Start: time.Now().Add(attackLead), Due: pacer.Constant(float64(s.rate), len(claims)).Due,
		Shot: func(i int) attack.Shot {
			return attack.Shot{URL: urls[claims[i].gateway] + "/v1/sales/" + s.templates[claims[i].template].ID + "/orders", Token: r.tokens[claims[i].user]}
		},
		Answered: func(i int, a attack.Answer) {
			phase := phaseOf(claims[i], a, &gone)
			if i >= warm {
				latencies.Add(phase+"."+a.Outcome, a.Latency)
				r.latencies.Add(fmt.Sprintf("claims_%d_%s.%s", s.rate, phase, a.Outcome), a.Latency)
			}
			mu.Lock()
			defer mu.Unlock()
			if a.Outcome == attack.OutcomeFault || passing(a.Outcome) {
				s.faults++
				s.fault = fmt.Sprint(a.Outcome, " ", a.Err)
			}
			t.won(s.templates[claims[i].template], claims[i].user, a)
		},
	})
	s.latencies = latencies.Summaries()
	if s.faults > 0 {
		r.limits = append(r.limits, fmt.Sprintf("claims at %d a second, round %d: %d of %d had no answer or a 503, the last: %v.", s.rate, s.round+1, s.faults, len(claims), s.fault))
	}
}

// phaseOf says what the claim's template was like when it was sent, as claimers knew it.
func phaseOf(c claim, a attack.Answer, gone *atomic.Int64) string {
	if a.Outcome == sale.SoldOut.String() {
		gone.CompareAndSwap(0, time.Now().UnixNano())
		return soldOut
	}
	if since := gone.Load(); c.template == 0 && since != 0 && a.Sent.UnixNano() > since {
		return soldOut
	}
	return inStock
}

// tell takes the stage's figures and says them.
func (r *run) tell(s stage) {
	name := fmt.Sprintf("claims_%d", s.rate)
	for class, figure := range map[string]string{
		inStock + "." + sale.Accepted.String(): "_in_stock", inStock + "." + sale.Replay.String(): "_replay", soldOut + "." + sale.SoldOut.String(): "_sold_out",
	} {
		if l := s.latencies[class]; l.Count > 0 {
			s.f[name+figure+"_p95_ms"], s.f[name+figure+"_p99_ms"] = l.P95, l.P99
		}
	}
	s.f[name+"_unanswered"] = float64(s.faults)
	s.f[name+"_sent_late_share"] = float64(s.late.Tool+s.late.Connections) / float64(max(1, s.late.Attempts))
	r.say("claims   %d a second: p95 in stock %.1f ms, sold out %.1f ms; %s", s.rate, s.f[name+"_in_stock_p95_ms"], s.f[name+"_sold_out_p95_ms"], s.late)
	if (s.late.Tool+s.late.Connections)*100 > s.late.Attempts {
		r.limits = append(r.limits, fmt.Sprintf("claims at %d a second, round %d: %s. Its latencies count from when claims were due, and so contain that.", s.rate, s.round+1, s.late))
	}
}

// size says how much there is in Postgres when a stage begins.
func (r *run) size(ctx context.Context, s stage) error {
	var templates, coupons, orders int64
	err := r.db.QueryRow(ctx, `SELECT (SELECT count(*) FROM coupon_templates), (SELECT count(*) FROM coupons), (SELECT count(*) FROM orders)`).Scan(&templates, &coupons, &orders)
	if err != nil {
		return fmt.Errorf("cannot count rows: %w", err)
	}
	r.data = append(r.data, fmt.Sprintf("round %d, %d a second: %d templates, %d coupons, %d orders before", s.round+1, s.rate, templates, coupons, orders))
	return nil
}
