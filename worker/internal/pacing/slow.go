package pacing

import "time"

const (
	slowFactor = 1.5 // effective target over the p90 of a slow database
	farEnough  = 4   // times less than where the cuts began
	asSlow     = 0.9 // of the p90 there
	easeEvery  = 10 * time.Second
	muchFaster = 2 // times: the target comes down at once
	eased      = 0.75
)

// anchor is the first of several breaches in a row.
type anchor struct {
	pace      float64 // 0 for none
	p90       time.Duration
	consumers int
}

// ease is a window with half the consumers. A database that was slow and no longer is
// may be kept busy by these alone.
type ease struct {
	at        time.Time // of the last one; zero before the first window
	on        bool
	consumers int
	p90       time.Duration
}

// retarget tells a slow database from an overloaded one. There, a pace that is cut to a
// quarter makes transactions no faster: the cuts were in vain, and are taken back. And at
// the floor there is nothing left to cut.
func (c *Controller) retarget(now time.Time) (slow bool) {
	s := &c.state
	switch {
	case s.P90 <= c.cfg.Target:
		s.Target, c.anchor, c.easing = c.cfg.Target, anchor{}, ease{}
	case s.P90 <= s.Target:
		c.anchor = anchor{}
		if muchFaster*c.scaled() < s.Target {
			s.Target = c.scaled()
		}
	case c.anchor.pace == 0:
		pace, _ := c.window.borne(now)
		c.anchor = anchor{pace: min(s.Pace, pace), p90: s.P90, consumers: s.Consumers}
	case s.Pace <= c.anchor.pace/farEnough && float64(s.P90) >= asSlow*float64(c.anchor.p90):
		s.Pace, s.Consumers = max(c.cfg.Floor, c.anchor.pace), c.anchor.consumers
		fallthrough
	case s.Pace <= c.cfg.Floor:
		s.Target = c.scaled()
		c.anchor, c.trial, c.easing = anchor{}, nil, ease{}
		c.judgeFrom(now)
		c.doubling, c.quiet, c.breaches = true, 0, 0 // nothing is known of the way up
		c.sinceProbe, c.probeAfter, c.probedAt = 0, probeFirst, time.Time{}
		return true
	}
	return false
}

func (c *Controller) scaled() time.Duration {
	return max(c.cfg.Target, time.Duration(slowFactor*float64(c.state.P90)))
}

// ease looks, every now and then, whether a slow database still is.
func (c *Controller) ease(now time.Time) (looking bool) {
	s, e := &c.state, &c.easing
	switch {
	case s.Target <= c.cfg.Target || s.P90 > s.Target:
		if e.on {
			s.Consumers = e.consumers
		}
		*e = ease{}
		return false
	case e.on && float64(s.P90) <= eased*float64(e.p90):
		s.Target, c.doubling, c.quiet = c.scaled(), false, 0
		*e = ease{at: now.Add(-easeEvery)} // and again
	case e.on:
		s.Consumers = e.consumers
		*e = ease{at: now}
		return false
	case e.at.IsZero():
		e.at = now
	}
	if now.Sub(e.at) < easeEvery || s.Consumers < 2 || c.trial != nil {
		return false
	}
	*e = ease{on: true, at: now, consumers: s.Consumers, p90: s.P90}
	s.Consumers /= 2
	c.from = now
	return true
}
