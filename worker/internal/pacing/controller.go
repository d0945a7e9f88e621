package pacing

import (
	"math"
	"time"
)

// How the pace moves from window to window.
const (
	growth     = 5    // times the root of the pace, a second, while the pace is the limit
	near       = 0.95 // of what came through when the pace was last cut: from there
	nearGrowth = 0.2  // times the growth
	leap       = 2.0  // times the pace, to see whether a throttle is gone
	usedUp     = 0.7  // of the pace: what makes it the limit
	cut        = 0.9  // of what came through, when one transaction at a time is over the target
	deepCut    = 0.5  // after errors

	holdFirst        = 3               // windows from a breach to the next leap, or one more consumer
	holdLongest      = 6               // after leaps that ended in one
	holdTransactions = 60              // in that time: those of a leap too far are few of all
	holdTime         = 5 * time.Second // though not for longer

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

	from  time.Time // transactions that began earlier waited in a queue that a cut has ended
	cuts  int
	paced bool // the pace was the limit of the last window

	hold   hold    // after a breach
	length int     // windows, of the hold after the next breach
	leapt  bool    // in the last window
	known  float64 // pace that was too much when it was last cut; 0 for none

	suspect suspect
	slow    slowness
}

// hold is how long the pace must still grow slowly.
type hold struct {
	windows      int
	transactions int
	until        time.Time // at the latest
}

func (h *hold) pass(transactions int) {
	h.windows, h.transactions = max(0, h.windows-1), max(0, h.transactions-transactions)
}

func (h *hold) over(now time.Time) bool {
	return h.windows == 0 && h.transactions == 0 || !now.Before(h.until)
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
	return &Controller{cfg: cfg, window: window{since: now}, length: holdFirst, state: verdict{
		Pace: cfg.Ceiling, Target: cfg.Target, LimitedBy: LimitDemand, Consumers: min(startConsumers, cfg.ConsumersMax),
	}}
}

// Ended records a transaction.
func (c *Controller) Ended(now time.Time, s Sample) {
	if !s.Began.Before(c.from) {
		c.window.add(now, s, c.state.Target)
	}
}

// Tick closes the window when it says enough, and reports whether it did.
func (c *Controller) Tick(now time.Time, u Usage) (closed bool) {
	if !c.window.complete(now, c.leapt, c.slow.looking) {
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
	if ok {
		c.state.P90 = p90
	}
	before := c.state.Consumers
	switch {
	case failed:
		c.halve(now)
	case c.judgeSlow(now):
	case c.state.P90 > c.state.Target:
		c.breach(now, u)
	default:
		c.grow(now, u)
	}
	c.state.LimitedBy = c.limit(u, failed, before)
}

// idle is a window in which nothing ended. What was known of the database grows old, and
// the worker begins anew.
func (c *Controller) idle(u Usage) {
	if u.Busy {
		return // all hang: nothing is known
	}
	s := &c.state
	s.Pace, s.Target, s.LimitedBy = c.cfg.Ceiling, c.cfg.Target, LimitDemand
	s.Consumers = min(s.Consumers, startConsumers)
	c.hold, c.length, c.leapt, c.known = hold{}, holdFirst, false, 0
	c.suspect, c.slow = suspect{}, slowness{}
}

// headroom is how many times as long transactions might take.
func (c *Controller) headroom() float64 {
	return float64(c.state.Target) / float64(max(1, c.state.P90))
}

// breach leaves as many in flight as can be over within the target: what they take is
// mostly their own queue. Where even one at a time is over it, the pace spaces them, a
// little less than what came through, and the queue runs dry.
func (c *Controller) breach(now time.Time, u Usage) {
	s := &c.state
	borne, within := c.window.borne(now), int(float64(s.Consumers)*c.headroom())
	s.Pace = c.bounded(min(s.Pace, cut*max(borne, c.guess(u, within))))
	if within < 1 {
		c.suspect.breach(s.P90, borne, s.Consumers)
		c.known = borne
	}
	s.Consumers = max(1, within)
	c.held(now)
}

// guess is what the database might bear, 0 where the window tells. What came through while
// neither the pace nor the consumers were the limit may be all that there was, such as the
// first few orders of a sale: full transactions might have taken no longer. Each guess is of
// fewer consumers, and none is made once one transaction at a time was over the target.
func (c *Controller) guess(u Usage, within int) float64 {
	if c.paced || u.Busy || c.known > 0 {
		return 0
	}
	return float64(max(1, within)) * MaxBatch / c.state.P90.Seconds()
}

func (c *Controller) bounded(pace float64) float64 {
	return max(c.cfg.Floor, min(c.cfg.Ceiling, pace))
}

// halve is for a database that refuses, or does not answer in time. If nothing else ended
// in the window, it does not say what the database bears.
func (c *Controller) halve(now time.Time) {
	pace := c.state.Pace
	if borne := c.window.borne(now); borne > 0 {
		pace = min(pace, borne)
	}
	c.state.Pace = c.bounded(deepCut * pace)
	c.state.Consumers = max(1, c.state.Consumers/2)
	c.held(now)
}

// held lets the pace be for some windows, more of them if it was a leap that failed.
func (c *Controller) held(now time.Time) {
	if c.leapt {
		c.length = min(2*c.length, holdLongest)
	}
	c.hold = hold{windows: c.length, transactions: holdTransactions, until: now.Add(holdTime)}
	c.leapt = false
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
	s := &c.state
	c.refuted()
	if c.leapt {
		c.length, c.known = holdFirst, 0
	}
	c.hold.pass(len(c.window.latencies))
	held := !c.hold.over(now)
	c.leapt = !held && (c.paced && s.Pace < c.cfg.Ceiling || u.Busy && s.Consumers < c.cfg.ConsumersMax)
	switch {
	case !c.paced && (held || u.Busy): // a pace that is not used up is not known to be borne
	case held:
		s.Pace = c.bounded(c.more(c.window.age(now).Seconds()))
	default:
		s.Pace = c.bounded(leap * s.Pace)
	}
	switch {
	case !u.Busy:
		c.fewer(u)
	default: // if they queue for each other, as many are over within the target
		room := int(float64(s.Consumers) * min(leap, c.headroom()))
		if !held {
			room = max(room, s.Consumers+1)
		}
		s.Consumers = min(c.cfg.ConsumersMax, room)
	}
}

// more is a larger pace, after some seconds. Workers that share a database come to equal
// paces: a cut takes from each a part of its pace, growth gives only the root of it.
func (c *Controller) more(seconds float64) float64 {
	pace, enough := c.state.Pace, near*c.known
	step := growth * math.Sqrt(pace) * seconds
	switch {
	case pace < enough:
		return min(pace+step, enough)
	case c.known > 0:
		return pace + nearGrowth*step
	default:
		return pace + step
	}
}

// fewer takes back consumers that are idle.
func (c *Controller) fewer(u Usage) {
	if c.state.Consumers > max(u.Peak, startConsumers) {
		c.state.Consumers--
	}
}

// limit says what held the window that was before consumers back.
func (c *Controller) limit(u Usage, failed bool, before int) Limit {
	s := c.state
	switch {
	case failed:
		return LimitErrors
	case s.Target > c.cfg.Target:
		return LimitLatency
	case s.P90 > s.Target:
		return LimitPace
	case c.paced && s.Pace >= c.cfg.Ceiling:
		return LimitCeiling
	case c.paced || u.Busy && s.Consumers == before && before < c.cfg.ConsumersMax:
		return LimitPace
	case u.Busy:
		return LimitConsumers
	default:
		return LimitDemand
	}
}
