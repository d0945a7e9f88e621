// Package pacer says when each attempt of an open-loop attack is due, however
// long the answers take. It is pure: it reads no clock, it only counts.
package pacer

import (
	"math"
	"time"
)

// Step is a stretch of a schedule at one rate.
type Step struct {
	PerSecond float64
	Attempts  int
}

// Schedule is a series of steps, one after the other.
type Schedule struct {
	steps []Step
	total int
}

// New makes a schedule of steps; steps without a rate or without attempts are
// left out.
func New(steps ...Step) Schedule {
	var s Schedule
	for _, step := range steps {
		if step.PerSecond > 0 && step.Attempts > 0 {
			s.steps = append(s.steps, step)
			s.total += step.Attempts
		}
	}
	return s
}

// Constant makes a schedule of n attempts at one rate.
func Constant(perSecond float64, n int) Schedule {
	return New(Step{PerSecond: perSecond, Attempts: n})
}

// Stepped makes a schedule that holds each rate for the same time.
func Stepped(hold time.Duration, perSecond ...float64) Schedule {
	steps := make([]Step, len(perSecond))
	for i, rate := range perSecond {
		steps[i] = Step{PerSecond: rate, Attempts: int(math.Round(rate * hold.Seconds()))}
	}
	return New(steps...)
}

// Spike makes a schedule that runs at base, leaps to peak for a while, and falls
// back to base for as long as it ran before.
func Spike(base, peak float64, before, during time.Duration) Schedule {
	calm := Step{PerSecond: base, Attempts: int(math.Round(base * before.Seconds()))}
	return New(calm, Step{PerSecond: peak, Attempts: int(math.Round(peak * during.Seconds()))}, calm)
}

// Len is how many attempts the schedule has.
func (s Schedule) Len() int { return s.total }

// Due is when attempt i is to be sent, counted from the start of the schedule.
// Attempts beyond the last are due with the end.
func (s Schedule) Due(i int) time.Duration {
	var start float64 // seconds
	for _, step := range s.steps {
		if i < step.Attempts {
			return seconds(start + float64(i)/step.PerSecond)
		}
		i -= step.Attempts
		start += float64(step.Attempts) / step.PerSecond
	}
	return seconds(start)
}

// Duration is when the last step ends.
func (s Schedule) Duration() time.Duration { return s.Due(s.total) }

func seconds(s float64) time.Duration { return time.Duration(math.Round(s * float64(time.Second))) }
