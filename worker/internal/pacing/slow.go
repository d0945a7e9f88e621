package pacing

import "time"

const (
	slowFactor = 1.5 // effective target over the p90 of a slow database
	farEnough  = 4   // times less than where the cuts began
	asSlow     = 0.9 // of the p90 there
	easeEvery  = 10  // windows
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
	windows   int // since the last one
	on        bool
	consumers int
	p90       time.Duration
}

// retarget tells a slow database from an overloaded one: there, a pace that is cut to a
// quarter, or to the floor, makes transactions no faster. Then the cuts were in vain,
// and are taken back.
func (c *Controller) retarget(now time.Time) (slow bool) {
	s := &c.state
	switch {
	case s.P90 <= c.cfg.Target:
		s.Target, c.anchor, c.easing = c.cfg.Target, anchor{}, ease{}
	case s.P90 <= s.Target:
		c.anchor = anchor{}
	case c.anchor.pace == 0:
		pace, _ := c.window.borne(now)
		c.anchor = anchor{pace: min(s.Pace, pace), p90: s.P90, consumers: s.Consumers}
	case s.Pace <= max(c.anchor.pace/farEnough, c.cfg.Floor) && float64(s.P90) >= asSlow*float64(c.anchor.p90):
		s.Target, s.Pace, s.Consumers = c.scaled(), max(c.cfg.Floor, c.anchor.pace), c.anchor.consumers
		c.anchor, c.trial, c.easing = anchor{}, nil, ease{}
		c.judgeFrom(now)
		c.doubling, c.quiet, c.breaches = true, 0, 0 // nothing is known of the way up
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
		*e = ease{windows: easeEvery} // and again
	case e.on:
		s.Consumers = e.consumers
		*e = ease{}
		return false
	}
	if e.windows++; e.windows <= easeEvery || s.Consumers < 2 || c.trial != nil {
		return false
	}
	*e = ease{on: true, consumers: s.Consumers, p90: s.P90}
	s.Consumers /= 2
	c.from = now
	return true
}
