package pacing

import "time"

const (
	slowFactor = 1.5 // effective target over the p90 of a slow database
	asSlow     = 0.8 // of the p90 before the pace was cut
	inVain     = 2   // cuts that made nothing faster
	muchFaster = 2   // times: it may be slow no longer
	lookAgain  = 20 * time.Second
)

// suspect is a database that was over the target with one transaction at a time. If it
// still is when the pace leaves gaps between them, it is slow, not overloaded.
type suspect struct {
	p90       time.Duration // 0 for none
	pace      float64       // that it bore
	consumers int
	cuts      int     // in vain
	before    float64 // pace before the cuts that only try it; 0 for none
}

func (s *suspect) breach(p90 time.Duration, borne float64, consumers int) {
	if s.p90 == 0 {
		*s = suspect{p90: p90, pace: borne, consumers: consumers}
	}
}

// refuted takes a cut back that only tried whether it would be in vain.
func (c *Controller) refuted() {
	c.state.Pace = max(c.state.Pace, cut*c.suspect.before)
	c.suspect = suspect{}
}

// slowness is of a database that was found to be slow.
type slowness struct {
	p90       time.Duration // then; 0 while it is not
	lookedAt  time.Time
	looking   bool // with one transaction at a time
	consumers int  // that were before
}

// judgeSlow reports whether this window said something about the database being slow,
// and has done what is to be done then.
func (c *Controller) judgeSlow(now time.Time) (judged bool) {
	s := &c.state
	switch {
	case c.slow.p90 > 0:
		return c.stillSlow(now)
	case s.P90 <= s.Target || c.suspect.p90 == 0 || s.Consumers > 1 || !c.paced && s.Pace > c.cfg.Floor:
		return false
	case float64(s.P90) < asSlow*float64(c.suspect.p90):
		c.suspect.p90 = s.P90
		return false
	}
	if c.suspect.cuts++; c.suspect.cuts < inVain && s.Pace > c.cfg.Floor {
		c.suspect.before = s.Pace
		s.Pace = c.bounded(deepCut * s.Pace)
		c.held(now)
		return true
	}
	// The cuts were in vain, and are taken back.
	c.slow = slowness{p90: s.P90, lookedAt: now}
	s.Target = scaled(c.cfg.Target, s.P90)
	s.Pace, s.Consumers = c.bounded(max(s.Pace, c.suspect.pace)), c.suspect.consumers
	c.suspect, c.hold, c.leapt = suspect{}, hold{}, false
	return true
}

func scaled(least, p90 time.Duration) time.Duration {
	return max(least, time.Duration(slowFactor*float64(p90)))
}

// stillSlow goes back to the configured target as soon as the database may bear it, and
// looks every now and then, with one transaction at a time: a database that was slow and
// no longer is may be kept busy by those in flight alone.
func (c *Controller) stillSlow(now time.Time) (judged bool) {
	s, slow := &c.state, &c.slow
	switch {
	case slow.looking:
		fast := s.P90 <= c.cfg.Target || muchFaster*s.P90 < slow.p90
		s.Consumers = slow.consumers
		if fast {
			s.Consumers = max(1, min(s.Consumers, int(c.cfg.Target/max(1, s.P90))))
			c.notSlow(now)
		} else {
			*slow = slowness{p90: s.P90, lookedAt: now}
			s.Target = scaled(c.cfg.Target, s.P90)
		}
		return true
	case s.P90 <= c.cfg.Target || muchFaster*s.P90 < slow.p90:
		c.notSlow(now)
		return false
	case s.P90 <= s.Target && now.Sub(slow.lookedAt) >= lookAgain && s.Consumers > 1:
		slow.looking, slow.consumers, s.Consumers = true, s.Consumers, 1
		c.judgeFrom(now)
		return true
	}
	return false
}

func (c *Controller) notSlow(now time.Time) {
	c.slow, c.state.Target = slowness{}, c.cfg.Target
	c.judgeFrom(now)
}
