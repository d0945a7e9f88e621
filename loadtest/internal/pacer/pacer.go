// Package pacer says when each attempt of an open-loop attack is due, however
// long the answers take. It is pure: it reads no clock, it only counts.
package pacer

import (
	"math"
	"time"
)

// Schedule is a number of attempts at one rate.
type Schedule struct {
	perSecond float64
	attempts  int
}

// Constant makes a schedule of n attempts at one rate, which is above zero.
func Constant(perSecond float64, n int) Schedule {
	return Schedule{perSecond: perSecond, attempts: n}
}

// Due is when attempt i is to be sent, counted from the start of the schedule.
// Attempts beyond the last are due with the end.
func (s Schedule) Due(i int) time.Duration {
	return time.Duration(math.Round(float64(min(i, s.attempts)) / s.perSecond * float64(time.Second)))
}

// Duration is how long the schedule takes.
func (s Schedule) Duration() time.Duration { return s.Due(s.attempts) }
