package pacing

import (
	"context"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	lookEvery  = 100 * time.Millisecond // at windows, and at what hangs
	hangFactor = 4                      // times the target
	mostWanted = 1000                   // workers
)

// Pacer gives order transactions their turn. Its methods may be called from anywhere.
type Pacer struct {
	cfg     Config
	promise time.Duration
	waiting func() int64

	mu         sync.Mutex
	controller *Controller
	limiter    *rate.Limiter // charged when a transaction begins, down to a debt
	turns      *turns
	paused     bool
	timer      *time.Timer // for the next permit; Run waits for it

	cuts     int                // of the controller, heeded
	draining map[*Turn]struct{} // begun before the last cut: the next one begins after them

	usage  usage
	wanted int // workers
}

// usage is of the window.
type usage struct {
	since     time.Time
	blockedAt time.Time // since when consumers are what is missing; zero while they are not
	blocked   time.Duration
	peak      int
	orders    int
	rate      float64 // orders per second in the window before
}

// New makes the pacer of one worker. waiting says how many reservations wait for their
// orders, 0 when nobody knows; promise is how long they should at most. Run must run.
func New(cfg Config, promise time.Duration, waiting func() int64) *Pacer {
	now := time.Now()
	return &Pacer{
		cfg: cfg, promise: promise, waiting: waiting, controller: NewController(cfg, now),
		limiter: rate.NewLimiter(rate.Limit(cfg.Ceiling), MaxBatch), turns: newTurns(cfg.ConsumersMax),
		draining: map[*Turn]struct{}{}, usage: usage{since: now}, wanted: 1,
		timer: time.NewTimer(lookEvery),
	}
}

// Run begins what waits for the pace, closes windows in which nothing ends, and finds what
// hangs, until ctx ends.
func (p *Pacer) Run(ctx context.Context) {
	defer p.timer.Stop()
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-p.timer.C:
		}
		p.look()
	}
}

func (p *Pacer) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.tick(now)
	p.dispatch(now)
}

// SetPaused stops transactions from beginning, or lets them begin again.
func (p *Pacer) SetPaused(paused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = paused
	p.dispatch(time.Now())
}

// Serve gives a sale its weight among the others.
func (p *Pacer) Serve(saleID string, weight int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turns.line(saleID).weight = float64(max(1, weight))
}

// Forget ends a sale's share, once nothing of it is in flight or waits.
func (p *Pacer) Forget(saleID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turns.remove(saleID)
}

// dispatch begins what may begin.
func (p *Pacer) dispatch(now time.Time) {
	for !p.paused && p.turns.anyWaiting() {
		if wait := p.permit(now); wait > 0 {
			p.unblock(now)
			p.timer.Reset(wait)
			return
		}
		l := p.turns.next(now, p.controller.state.Consumers, p.hang())
		if l == nil {
			if p.usage.blockedAt.IsZero() {
				p.usage.blockedAt = now
			}
			return
		}
		p.begin(now, l)
	}
	p.unblock(now)
}

func (p *Pacer) unblock(now time.Time) {
	u := &p.usage
	if !u.blockedAt.IsZero() {
		u.blocked, u.blockedAt = u.blocked+now.Sub(u.blockedAt), time.Time{}
	}
}

// permit says how long it is until a transaction may begin.
func (p *Pacer) permit(now time.Time) time.Duration {
	for t := range p.draining {
		if now.Sub(t.began) <= p.hang() {
			return lookEvery // its end comes first, or it hangs
		}
	}
	debt := -p.limiter.TokensAt(now)
	if debt < 0 {
		return 0
	}
	return time.Duration((debt+1)/float64(p.limiter.Limit())*float64(time.Second)) + time.Microsecond
}

func (p *Pacer) begin(now time.Time, l *line) {
	t := l.take()
	cost := Cost(t.orders)
	p.turns.begin(l, t, now, cost)
	t.began, t.charged = now, cost
	p.charge(now, cost)
	p.usage.peak = max(p.usage.peak, p.turns.running())
	close(t.granted)
}

func (p *Pacer) charge(now time.Time, cost float64) {
	for left := int(math.Ceil(cost)); left > 0; left -= MaxBatch {
		p.limiter.ReserveN(now, min(left, MaxBatch))
	}
}

func (p *Pacer) hang() time.Duration {
	return max(shortestHang, hangFactor*p.controller.state.Target)
}

// tick closes the window if it is over, and does what the controller says.
func (p *Pacer) tick(now time.Time) {
	u := &p.usage
	if !u.blockedAt.IsZero() {
		u.blocked, u.blockedAt = u.blocked+now.Sub(u.blockedAt), now
	}
	busy := 2*u.blocked >= now.Sub(u.since) && u.blocked > 0
	if p.controller.Tick(now, Usage{Busy: busy, Peak: u.peak}) {
		u.rate = float64(u.orders) / now.Sub(u.since).Seconds()
		*u = usage{since: now, blockedAt: u.blockedAt, peak: p.turns.running(), rate: u.rate}
		p.want()
	}
	if pace := rate.Limit(p.controller.state.Pace); pace != p.limiter.Limit() {
		p.limiter.SetLimitAt(now, pace)
	}
	if cuts := p.controller.Cuts(); cuts != p.cuts {
		p.cuts = cuts
		p.drain(now)
	}
}

// drain lets the transactions in flight end, and then as much time pass as one takes of
// the pace: whatever they queue for is free by then.
func (p *Pacer) drain(now time.Time) {
	for _, l := range p.turns.sales {
		for t := range l.running {
			p.draining[t] = struct{}{}
		}
	}
	p.spend(now)
}

// spend leaves a debt of one transaction, and nothing saved up.
func (p *Pacer) spend(now time.Time) { p.charge(now, p.limiter.TokensAt(now)+MaxBatch) }

// want works out how many workers would do, each at this one's rate. While the database
// is the limit, more of them make nothing faster, so it stays as it is.
func (p *Pacer) want() {
	waiting := float64(p.waiting())
	switch limit := p.controller.state.LimitedBy; {
	case waiting == 0:
		p.wanted = 1
	case p.usage.rate > 0 && (limit == LimitConsumers || limit == LimitCeiling || limit == LimitDemand):
		workers := math.Ceil(waiting / p.promise.Seconds() / p.usage.rate)
		p.wanted = int(max(1, min(mostWanted, workers)))
	}
}
