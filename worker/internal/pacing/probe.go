package pacing

import "time"

const (
	probeEvery = 16              // transactions from one that waited to the next
	probeFirst = 3               // while none has waited
	probeApart = 2 * time.Second // at least
	probeLast  = 8 * time.Second // at most, where transactions are few
	trialGood  = 6               // transactions well at twice the pace: it is borne
	trialFew   = 2               // where each has ended long before the next
	trialSlow  = 3               // and so many slow ones end it
	muchMore   = 1.1             // times the pace: less is left to growth
)

// trial is a doubled pace, or one more consumer, that is not yet known to be borne.
type trial struct {
	since      time.Time
	pace       float64 // that was
	consumers  int     // that were
	good, slow int
}

// ProbeDue reports whether the next transaction may begin early, after half the time that
// the pace would have it wait. The others are not much disturbed: it is one in many. In a
// database that bears no more it waits, and is seen to; where it does not, twice the
// pace is tried. Otherwise nobody would know that a throttle is gone.
func (c *Controller) ProbeDue(now time.Time) bool {
	passed := now.Sub(c.probedAt)
	return c.paced && c.trial == nil && c.breaches == 0 && c.state.Pace < c.cfg.Ceiling &&
		(c.sinceProbe >= c.probeAfter && passed >= probeApart || c.sinceProbe >= trialFew && passed >= probeLast)
}

// Probing says that a transaction has begun early.
func (c *Controller) Probing(now time.Time) { c.sinceProbe, c.probedAt = 0, now }

func (c *Controller) probed(now time.Time, s Sample, well bool) {
	if c.trial != nil || c.breaches > 0 {
		return
	}
	more := fastGrowth * c.state.Pace
	if !well {
		c.probeAfter = probeEvery
		more = c.spacing(s)
	}
	if more < muchMore*c.state.Pace {
		return
	}
	c.try(now)
	c.state.Pace = min(c.cfg.Ceiling, more)
	c.window.reset(now)
}

// enough is how many transactions have to go well on trial.
func (c *Controller) enough() int {
	if apart := time.Duration(MaxBatch / c.state.Pace * float64(time.Second)); c.state.Consumers == 1 && apart > 2*c.state.P90 {
		return trialFew
	}
	return trialGood
}

// spacing is the pace at which a probe that waited would just not have: what it waited
// for is the turn behind the transaction before it.
func (c *Controller) spacing(s Sample) float64 {
	waited := s.Latency - c.state.P90
	if c.state.Consumers > 1 || waited <= 0 || s.After <= 0 {
		return 0
	}
	return cut * s.Cost / (s.After + waited).Seconds()
}

func (c *Controller) try(now time.Time) {
	c.trial = &trial{since: now, pace: c.state.Pace, consumers: c.state.Consumers}
}

// revert ends a trial as if it had not been.
func (c *Controller) revert() {
	if c.trial != nil {
		c.state.Pace, c.state.Consumers, c.trial = c.trial.pace, c.trial.consumers, nil
	}
}

func (c *Controller) tried(now, began time.Time, well bool) {
	t := c.trial
	switch {
	case began.Before(t.since):
		return
	case well:
		t.good++
	default:
		t.slow++
	}
	switch {
	case t.slow >= trialSlow:
		c.probeAfter = probeEvery
		tried, borne := c.state.Pace, t.pace
		if cost, _ := c.window.borne(now); tried > t.pace {
			borne = max(t.pace, min(tried, cut*cost)) // part of the way
		}
		c.revert()
		c.state.Pace = borne
		c.judgeFrom(now)
	case t.good >= c.enough():
		c.trial = nil // the next one is due at once
		c.sinceProbe, c.probeAfter, c.probedAt = 0, 0, time.Time{}
		c.quiet = quietWindows
	}
}
