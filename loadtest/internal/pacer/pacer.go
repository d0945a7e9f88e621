// Package pacer says when each attempt of an open-loop attack is due, however
// long the answers take. It is pure: it reads no clock, it only counts.
package pacer

import (
	"math"
	"time"
)

// Step is a while at one rate.
type Step struct {
	PerSecond float64
	Lasts     time.Duration
}

// Schedule is a number of attempts, at one rate after the other.
type Schedule struct {
	steps    []stretch
	attempts int
}

// stretch is a step with where it begins. Attempts may be fractions: a step ends
// where it ends, and the next goes on from there.
type stretch struct {
	from      time.Duration
	first     float64
	perSecond float64
}

// Constant makes a schedule of n attempts at one rate, which is above zero.
func Constant(perSecond float64, n int) Schedule {
	return Schedule{steps: []stretch{{perSecond: perSecond}}, attempts: n}
}

// Stepped makes a schedule of steps, one after the other: of one at least, with rates
// above zero.
func Stepped(steps ...Step) Schedule {
	var s Schedule
	var from time.Duration
	var first float64
	for _, step := range steps {
		s.steps = append(s.steps, stretch{from: from, first: first, perSecond: step.PerSecond})
		from += step.Lasts
		first += step.PerSecond * step.Lasts.Seconds()
	}
	s.attempts = int(math.Round(first))
	return s
}

// Spike makes a schedule at one rate that rises to another for the middle fifth.
func Spike(perSecond, peak float64, lasts time.Duration) Schedule {
	fifth := lasts / 5
	return Stepped(Step{perSecond, 2 * fifth}, Step{peak, fifth}, Step{perSecond, lasts - 3*fifth})
}

// First is the schedule's beginning, of n attempts at most.
func (s Schedule) First(n int) Schedule {
	s.attempts = min(s.attempts, n)
	return s
}

// Attempts is how many there are.
func (s Schedule) Attempts() int { return s.attempts }

// Steps is how many steps there are, whether or not attempts come in each.
func (s Schedule) Steps() int { return len(s.steps) }

// Rate is how many attempts a second come in a step.
func (s Schedule) Rate(step int) float64 { return s.steps[step].perSecond }

// Begins is when a step begins, counted from the start of the schedule.
func (s Schedule) Begins(step int) time.Duration { return s.steps[step].from }

// Step is the one in which attempt i is due.
func (s Schedule) Step(i int) int {
	at := 0
	for n, step := range s.steps {
		if step.first <= float64(i) {
			at = n
		}
	}
	return at
}

// Due is when attempt i is to be sent, counted from the start of the schedule.
// Attempts beyond the last are due with the end.
func (s Schedule) Due(i int) time.Duration {
	i = min(i, s.attempts)
	at := s.steps[s.Step(i)]
	return at.from + time.Duration(math.Round((float64(i)-at.first)/at.perSecond*float64(time.Second)))
}

// Duration is how long the schedule takes.
func (s Schedule) Duration() time.Duration { return s.Due(s.attempts) }
