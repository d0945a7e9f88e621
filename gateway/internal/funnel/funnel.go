package funnel

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"sluice/gateway/internal/catalog"
	"sluice/shared/sale"
	"sluice/shared/service"
)

// Stock decides attempts in Redis.
type Stock interface {
	Reserve(ctx context.Context, saleID string, epoch int64, attempts []sale.Attempt) (sale.Snapshot, []sale.Decision, error)
	HandedOver(ctx context.Context, saleID string, epoch int64, rids []string) error
}

// Publisher hands reservations over; nil means that JetStream has them on disk.
type Publisher interface {
	Publish(ctx context.Context, h sale.HandOver) (uint64, error)
}

// Broadcaster tells the other gateways of a sale's new state, as a hint.
type Broadcaster interface {
	NotifySnapshot(s sale.Snapshot) error
}

// Failpoints make this process fail at a named point; see Points.
type Failpoints interface{ Hit(name string) error }

// Points where a gateway can be made to fail.
const (
	PointReserved   = "gateway.reserved"    // units deducted, nothing published
	PointHandedOver = "gateway.handed_over" // JetStream has them, nobody was told
)

// Config of a funnel.
type Config struct {
	PublishTimeout time.Duration // from the start of a reserve call to the PubAck
	BatchSize      int           // most attempts a reserve call, 1..sale.MaxHandOver
	InFlight       int           // reserve calls of one sale at a time, up to the acknowledgement of what they accepted
	LineLength     int           // most attempts of one sale that may wait for a reserve call
	TotalLine      int           // the same for all sales together, of which each has a share by its weight
	InstantBudget  time.Duration // most time that an instant sale's attempt waits for its outcome
	AdmitRate      float64       // attempts a second let through to the lines, shared by weight; 0 is unlimited
	AdmitSaleRate  float64       // the most of any one sale; 0 is unlimited
	AdmitWait      time.Duration // most time that an attempt waits to be let through
}

const maxInstantBudget = 10 * time.Second

// Check refuses what makes no sense; the errors name the gateway's flags.
func (c Config) Check() error {
	switch {
	case c.PublishTimeout <= 0 || c.PublishTimeout > sale.MaxPublishTimeout:
		return fmt.Errorf("-publish-timeout must be more than 0 and at most %v, is %v", sale.MaxPublishTimeout, c.PublishTimeout)
	case c.BatchSize < 1 || c.BatchSize > sale.MaxHandOver:
		return fmt.Errorf("-reserve-batch must be 1 to %d, is %d", sale.MaxHandOver, c.BatchSize)
	case c.InFlight < 1:
		return fmt.Errorf("-reserve-in-flight must be at least 1, is %d", c.InFlight)
	case c.LineLength < 1:
		return fmt.Errorf("-reserve-line must be at least 1, is %d", c.LineLength)
	case c.TotalLine < 1:
		return fmt.Errorf("-reserve-line-total must be at least 1, is %d", c.TotalLine)
	case c.InstantBudget <= 0 || c.InstantBudget > maxInstantBudget:
		return fmt.Errorf("-instant-budget must be more than 0 and at most %v, is %v", maxInstantBudget, c.InstantBudget)
	case !finite(c.AdmitRate):
		return fmt.Errorf("-admit-rate must be a number from 0, is %v", c.AdmitRate)
	case !finite(c.AdmitSaleRate):
		return fmt.Errorf("-admit-sale-rate must be a number from 0, is %v", c.AdmitSaleRate)
	case c.AdmitWait < 0 || c.AdmitWait > sale.MaxPublishTimeout:
		return fmt.Errorf("-admit-wait must be 0 to %v, is %v", sale.MaxPublishTimeout, c.AdmitWait)
	}
	return nil
}

// full is how many must wait for a call beside another one.
func (c Config) full() int { return min(c.BatchSize, c.LineLength, c.TotalLine) }

// finite refuses what the flag parser takes for a number: NaN and Inf.
func finite(rate float64) bool { return rate >= 0 && !math.IsInf(rate, 1) }

// Funnel takes attempts through the layers. It is safe for concurrent use.
type Funnel struct {
	config   Config
	stock    Stock
	queue    Publisher
	news     Broadcaster
	outcomes Outcomes
	verifier Verifier
	users    *UserLimit
	points   Failpoints
	exits    *Exits
	calls    *Calls
	log      *slog.Logger

	admission *admission
	shares    *shares
	flights   sync.WaitGroup // reserve and hand-over goroutines
	faults    service.Quiet  // log lines of failed calls
}

// Parts are what a funnel works with.
type Parts struct {
	Stock      Stock
	Queue      Publisher
	News       Broadcaster
	Outcomes   Outcomes
	Verifier   Verifier
	Users      *UserLimit
	Failpoints Failpoints
	Exits      *Exits
	Calls      *Calls
	Log        *slog.Logger
}

// New builds a funnel. The configuration must have passed Check.
func New(c Config, p Parts) *Funnel {
	return &Funnel{config: c, stock: p.Stock, queue: p.Queue, news: p.News, outcomes: p.Outcomes, verifier: p.Verifier, users: p.Users, points: p.Failpoints,
		exits: p.Exits, calls: p.Calls, log: p.Log, admission: newAdmission(c), shares: &shares{perSecond: c.AdmitRate, places: c.TotalLine}}
}

// Result is how an attempt left the funnel.
type Result struct {
	Outcome sale.Outcome
	Layer   sale.Layer   // the layer it left by
	UserID  string       // once the token was verified
	Ticket  sale.Ticket  // zero unless HasTicket
	Refusal sale.Refusal // with NotEligible

	RetryAfter time.Duration // with TooMany
}

// Left reports whether the attempt left the funnel; the zero Result passes it on.
func (r Result) Left() bool { return r.Outcome != sale.NoOutcome }

// HasTicket reports whether a reservation answers the attempt.
func (r Result) HasTicket() bool { return r.Ticket.RID != "" }

// Attempt takes one attempt for one unit of s through the layers behind memory
// and blocks until it has left, which the deadlines of the calls bound.
func (f *Funnel) Attempt(s *catalog.Sale, who Requester, key string) Result {
	start := time.Now()
	r := f.instant(s, f.attempt(s, who, key))
	f.calls.attempts.WithLabelValues(r.Outcome.String()).Observe(time.Since(start).Seconds())
	f.exits.Leave(r.Layer, r.Outcome)
	return r
}

func (f *Funnel) attempt(s *catalog.Sale, who Requester, key string) Result {
	now := s.Clock()
	id, refused := f.identify(who, s.Now(now))
	if refused.Left() {
		return refused
	}
	if refused = f.bound(id.UserID, now); refused.Left() {
		return refused
	}
	if refused = f.judge(s, id, now); refused.Left() {
		return refused
	}
	a := newAttempt(id.UserID, key, s.Now(now))
	if refused = f.admit(s, a); refused.Left() {
		return refused
	}
	<-a.done
	a.result.UserID = id.UserID
	return a.result
}

// Close waits until every attempt that is in flight has left.
func (f *Funnel) Close() { f.flights.Wait() }
