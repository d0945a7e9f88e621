package chaos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/history"
	"sluice/loadtest/internal/record"
	"sluice/loadtest/internal/wait"
	"sluice/shared/auth"
	"sluice/shared/sale"
)

const (
	answerTimeout = 5 * time.Second
	senders       = 32
	followers     = 64 // connections of those who follow tickets, to each gateway
	tokenTTL      = time.Hour
)

// load is a crowd under way: each attempt of another buyer, at each gateway in turn, and
// whoever was told of a ticket follows it.
type load struct {
	round    *Round
	stop     context.CancelFunc
	sending  sync.WaitGroup
	tickets  sync.WaitGroup
	attacker *attack.Attacker
	buyers   *attack.Buyers

	accepted atomic.Int64 // attempts answered 202
	unknown  atomic.Int64 // attempts without a certain answer
	certain  atomic.Int64 // buyers of insist who have one

	latencies record.Latencies
	winners   record.Winners
	mu        sync.Mutex
	stages    []stage              // what attempts are timed for, in turn
	tried     int                  // buyers, the first of all
	cuts      map[int]error        // by buyer, of attempts whose connection was there, and broke
	unknowing []int                // buyers of attempts without a certain answer
	outcomes  map[string]int       // of attempts
	waiting   map[string]time.Time // by reservation without outcome, when its attempt was sent
	accepts   map[int]time.Time    // by gateway, when its newest attempt that was answered 202 was sent
	sentTo    map[int]int          // by buyer, the gateway of the newest attempt
}

// attack begins the load at so many attempts a second, until the round ends it.
func (r *Round) attack(ctx context.Context, perSecond float64) *load {
	l := r.newLoad(senders)
	l.goOn(ctx, perSecond)
	return l
}

func (r *Round) newLoad(connections int) *load {
	r.load = &load{round: r, stop: func() {}, accepts: make(map[int]time.Time), sentTo: make(map[int]int), outcomes: make(map[string]int), cuts: make(map[int]error),
		waiting: make(map[string]time.Time), buyers: attack.NewBuyers(followers, answerTimeout),
		attacker: attack.New(attack.Config{Connections: connections, Timeout: answerTimeout})}
	r.routes.carry(r.load.attacker.Close)
	return r.load
}

// goOn has buyers who have not tried yet make so many attempts a second.
func (l *load) goOn(ctx context.Context, perSecond float64) {
	ctx, l.stop = context.WithCancel(ctx)
	first, start := l.untried(), time.Now()
	l.sending.Go(func() {
		l.attacker.Run(ctx, attack.Plan{
			Attempts: mostAttempts, Start: start,
			Due:      func(i int) time.Duration { return time.Duration(float64(i) / perSecond * float64(time.Second)) },
			Shot:     func(i int) attack.Shot { return l.shot(first + i) },
			Answered: func(i int, a attack.Answer) { l.answered(ctx, first+i, "", a) },
		})
	})
}

// attempt has a buyer try once more, or for the first time, at once, under an idempotency
// key, "" for none.
func (l *load) attempt(ctx context.Context, buyer int, key string) attack.Answer {
	shot := l.shot(buyer)
	shot.Key = key
	a := l.attacker.Send(shot)
	l.answered(ctx, buyer, key, a)
	return a
}

// insist has so many buyers try at the same time, each again until the answer is certain.
func (l *load) insist(ctx context.Context, buyers int) {
	ctx, l.stop = context.WithCancel(ctx)
	for buyer := range buyers {
		pause := 500*time.Millisecond + time.Duration(l.round.random.Int64N(int64(time.Second)))
		l.sending.Go(func() {
			for !isCertain(l.attempt(ctx, buyer, "").Outcome) {
				if !wait.For(ctx, pause) {
					return
				}
			}
			l.certain.Add(1)
		})
	}
}

// mostAttempts is more than a round lasts for.
const mostAttempts = 1_000_000

func (r *Round) user(buyer int) string { return fmt.Sprintf("%s-buyer-%d", r.saleID, buyer) }

func (r *Round) token(buyer int) string {
	secrets := r.stack.Info().Secrets
	token, err := auth.Mint([]byte(secrets.JWTHS256), secrets.JWTIssuer, secrets.JWTAudience, r.user(buyer), sale.Claims{}, time.Now(), tokenTTL)
	if err != nil {
		r.fail("scenario", "cannot make a token: %v", err)
	}
	return token
}

func (r *Round) gateway(i int) string {
	gateways := r.stack.Info().Gateways
	return gateways[i%len(gateways)].URL
}

func (l *load) shot(buyer int) attack.Shot {
	at := l.round.routes.from(buyer, l.round.gateways())
	l.mu.Lock()
	l.tried = max(l.tried, buyer+1)
	l.sentTo[buyer] = at
	l.mu.Unlock()
	return attack.Shot{URL: l.round.gateway(at) + "/v1/sales/" + l.round.saleID + "/orders", Token: l.round.token(buyer)}
}

// untried is the first of the buyers who have not tried yet.
func (l *load) untried() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tried
}

func (l *load) answered(ctx context.Context, buyer int, key string, a attack.Answer) {
	r := l.round
	l.timed(buyer, a)
	l.mu.Lock()
	l.outcomes[a.Outcome]++
	l.mu.Unlock()
	e := history.Event{Kind: history.Attempt, Sale: r.saleID, User: r.user(buyer), Key: key, Began: r.since(a.Sent), Ended: r.journal.Now(),
		Status: statusOf(a.Outcome), Ticket: string(a.Ticket.Status)}
	if e.Status == 0 || e.Status == http.StatusServiceUnavailable {
		l.unknown.Add(1)
		l.mu.Lock()
		l.unknowing = append(l.unknowing, buyer)
		if a.Err != nil && !errors.Is(a.Err, syscall.ECONNREFUSED) {
			l.cuts[buyer] = a.Err
		}
		l.mu.Unlock()
	}
	if a.Ticket.Ticket != "" {
		e.RID = l.won(ctx, buyer, key, a)
	}
	r.journal.Add(e)
}

// statusOf is the HTTP status that an outcome stands for: those that the checker asks
// about, and 409 for every refusal.
func statusOf(outcome string) int {
	switch outcome {
	case attack.OutcomeFault:
		return 0
	case sale.Accepted.String():
		return http.StatusAccepted
	case sale.Replay.String():
		return http.StatusOK
	case sale.Confirmed.String():
		return http.StatusCreated
	case sale.Unavailable.String(), sale.Busy.String(), sale.Paused.String():
		return http.StatusServiceUnavailable
	default:
		return http.StatusConflict
	}
}

// isCertain reports whether a buyer who is answered that has no reason to try again.
func isCertain(outcome string) bool {
	status := statusOf(outcome)
	return status != 0 && status != http.StatusServiceUnavailable && outcome != sale.TooMany.String()
}

// won has a ticket followed to its outcome.
func (l *load) won(ctx context.Context, buyer int, key string, a attack.Answer) (rid string) {
	rid, err := attack.RID(a.Ticket.Ticket)
	if err != nil {
		l.round.fail("I3", "%v", err)
		return ""
	}
	accepted := a.Outcome == sale.Accepted.String()
	if accepted {
		l.accepted.Add(1)
		l.mu.Lock()
		if at := l.sentTo[buyer]; a.Sent.After(l.accepts[at]) {
			l.accepts[at] = a.Sent
		}
		l.mu.Unlock()
	}
	if l.winners.Answer(buyer, a.Ticket.Ticket, rid, accepted, a.Ticket.Status) {
		l.mu.Lock()
		l.waiting[rid] = a.Sent
		l.mu.Unlock()
		l.tickets.Go(func() { l.follow(context.WithoutCancel(ctx), bought{buyer, rid, key, a.Ticket}) })
	}
	return rid
}

// pause stops sending and waits for every outcome.
func (l *load) pause() {
	l.stop()
	l.sending.Wait()
	l.tickets.Wait()
}

// end is a pause for good.
func (l *load) end() {
	l.pause()
	l.attacker.Close()
}

// left are the buyers who were left without a certain answer, each once, in order.
func (l *load) left() []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Compact(slices.Sorted(slices.Values(l.unknowing)))
}

// answers counts the attempts with an outcome.
func (l *load) answers(outcome string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.outcomes[outcome]
}

// allAnswers counts the attempts by outcome.
func (l *load) allAnswers() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.outcomes)
}

// undecided counts the reservations that wait for their outcome.
func (l *load) undecided() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}

// broken are the attempts whose connection was there, and broke before the answer.
func (l *load) broken() map[int]error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.cuts)
}

// goesOn reports whether every gateway answered 202 to an attempt that was sent after a
// moment, and no reservation of before waits for its outcome.
func (l *load) goesOn(since time.Time) bool {
	count := l.round.gateways()
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range count {
		if !l.accepts[i].After(since) {
			return false
		}
	}
	for _, sent := range l.waiting {
		if sent.Before(since) {
			return false
		}
	}
	return true
}
