package pacing

import (
	"math"
	"time"
)

// How the pace moves from window to window.
const (
	growth       = 5    // times the root of the pace, in a full window, while the pace is the limit
	mostGrowth   = 0.05 // of the pace
	fastGrowth   = 2.0  // until the first breach, and on trial
	usedUp       = 0.9  // of the pace: what makes it the limit
	cut          = 0.9  // of what came through, when the p90 is over the target
	deepCut      = 0.5  // after errors, or when a cut left the p90 over deepFactor × the target
	deepFactor   = 2
	mostShallow  = 2 // cuts in a row; then it is to be known soon whether the database is slow
	quietWindows = 4 // until one more consumer is tried

	startConsumers = 2
)

// Usage is what a window's transactions had of the consumers.
type Usage struct {
	Busy bool // as many as may be were in flight most of the time, and more wanted to be
	Peak int  // most in flight
}

// Controller is the pace of one worker. It is not safe for concurrent use.
type Controller struct {
	cfg    Config
	window window
	state  verdict

	from     time.Time // transactions that began earlier waited in a queue that a cut has ended
	cuts     int
	doubling bool
	paced    bool   // the pace was the limit of the last window
	quiet    int    // windows since the last breach
	breaches int    // in a row
	anchor   anchor // where the cuts in a row began

	trial      *trial // nil for none
	sinceProbe int    // transactions
	probeAfter int
	probedAt   time.Time

	easing ease // of a slow database
}

// verdict is what the windows so far have led to.
type verdict struct {
	Pace      float64       // orders per second, of full transactions
	P90       time.Duration // of the last window; 0 before the first
	Target    time.Duration // effective
	LimitedBy Limit
	Consumers int     // transactions that may be in flight
	Rate      float64 // cost a second in the last window
}

// NewController starts at the ceiling: a worker has few transactions in flight, so that the first
// window tells before much harm is done, and a database that bears it is used at once.
func NewController(cfg Config, now time.Time) *Controller {
	return &Controller{cfg: cfg, window: window{since: now}, doubling: true, probeAfter: probeFirst, state: verdict{
		Pace: cfg.Ceiling, Target: cfg.Target, LimitedBy: LimitDemand, Consumers: min(startConsumers, cfg.ConsumersMax),
	}}
}

// Ended records a transaction.
func (c *Controller) Ended(now time.Time, s Sample) {
	if s.Began.Before(c.from) {
		return
	}
	c.window.add(now, s, c.state.Target)
	c.sinceProbe++
	well := s.Latency <= c.state.Target && !s.Failed
	switch {
	case s.Probe:
		c.probed(now, s, well)
	case c.trial != nil:
		c.tried(now, s.Began, well)
	}
}

// Tick closes the window when it says enough, and reports whether it did.
func (c *Controller) Tick(now time.Time, u Usage) (closed bool) {
	if !c.window.complete(now) {
		return false
	}
	c.adjust(now, u)
	c.window.reset(now)
	return true
}

func (c *Controller) adjust(now time.Time, u Usage) {
	failed := c.window.errors > 0
	p90, ok := c.window.p90()
	c.state.Rate = c.window.rate(now)
	c.paced = c.state.Rate >= usedUp*c.state.Pace
	if !ok && !failed {
		c.idle(u)
		return
	}
	slowed := false
	if ok {
		c.state.P90 = p90
		slowed = c.retarget(now) || c.ease(now)
	}
	switch {
	case slowed: // nothing is to be done about it
	case failed:
		c.breach(now, deepCut)
	case c.state.P90 <= c.state.Target:
		c.grow(now, u)
	case c.breaches > 0 && c.state.P90 > deepFactor*c.state.Target, c.breaches >= mostShallow:
		c.breach(now, deepCut)
	default:
		// What came through is what the database bears; a little less lets the queue
		// in front of it run dry.
		c.breach(now, cut)
	}
	c.state.LimitedBy = c.limit(u, failed)
}

// idle is a window in which nothing ended.
func (c *Controller) idle(u Usage) {
	if u.Busy {
		return // all hang: nothing is known
	}
	c.state.LimitedBy = LimitDemand
	c.fewer(u)
}

// breach cuts both: the pace to a part of what came through, and the transactions in
// flight to as many as can be over within the target, by Little's law. Where that is
// less than one the pace alone spaces them.
func (c *Controller) breach(now time.Time, part float64) {
	cost, transactions := c.window.borne(now)
	c.revert()
	c.state.Pace = max(c.cfg.Floor, part*min(c.state.Pace, cost))
	within := int(transactions * c.state.Target.Seconds())
	c.state.Consumers = max(1, min(c.state.Consumers, within))
	c.doubling, c.quiet = false, 0
	c.breaches++
	c.sinceProbe, c.probeAfter = 0, probeFirst
	c.judgeFrom(now)
}

// judgeFrom lets the queue of before run dry unjudged.
func (c *Controller) judgeFrom(now time.Time) {
	c.from, c.cuts = now, c.cuts+1
	c.window.reset(now)
}

// Cuts counts how often the transactions in flight became too many. What was saved up
// until then must not be spent after it.
func (c *Controller) Cuts() int { return c.cuts }

func (c *Controller) grow(now time.Time, u Usage) {
	c.quiet, c.breaches = c.quiet+1, 0
	if c.paced && c.trial == nil { // a pace that nobody uses up is not known to be borne
		c.state.Pace = min(c.cfg.Ceiling, c.state.Pace+c.more())
	}
	switch {
	case !u.Busy:
		c.fewer(u)
	case c.doubling:
		c.state.Consumers = min(c.cfg.ConsumersMax, 2*c.state.Consumers)
	case c.quiet >= quietWindows && c.trial == nil && c.state.Consumers < c.cfg.ConsumersMax:
		c.try(now)
		c.state.Consumers++
		c.quiet = 0
	}
}

func (c *Controller) more() float64 {
	pace := c.state.Pace
	if c.doubling {
		return (fastGrowth - 1) * pace
	}
	full := min(1, float64(len(c.window.latencies))/windowSamples)
	return full * min(growth*math.Sqrt(pace), mostGrowth*pace)
}

// fewer takes back consumers that are idle.
func (c *Controller) fewer(u Usage) {
	if c.state.Consumers > max(u.Peak, startConsumers) {
		c.state.Consumers--
	}
}

func (c *Controller) limit(u Usage, failed bool) Limit {
	switch {
	case failed:
		return LimitErrors
	case c.state.Target > c.cfg.Target:
		return LimitLatency
	case c.paced && c.state.Pace >= c.cfg.Ceiling:
		return LimitCeiling
	case c.paced || c.breaches > 0:
		return LimitPace
	case u.Busy:
		return LimitConsumers
	default:
		return LimitDemand
	}
}
