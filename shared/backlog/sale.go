package backlog

import "time"

// Sale is the backlog of one sale at one moment.
type Sale struct {
	SaleID    string
	Title     string
	Waiting   int64     // reservations accepted and not yet settled
	Oldest    time.Time // since when the oldest waits; zero when nothing waits, or it is not known yet
	DrainRate float64   // reservations served a second, lately; 0 until it is measured
	Measured  bool      // DrainRate is known: there were two readings of this epoch, and the last is not old
	ReadAt    time.Time // when it was last read; it is kept while it cannot be read, so the age keeps growing
	Stale     bool      // it cannot be read now, Redis does not have it live or does not answer: the rest is of ReadAt
}

// Age is how long the oldest reservation has waited; 0 when nothing waits.
func (s Sale) Age(now time.Time) time.Duration {
	if s.Oldest.IsZero() {
		return 0
	}
	return max(0, now.Sub(s.Oldest)) // the clocks of the stores may be ahead
}

// longest is the longest time to drain that is told: beyond it there is no telling.
const longest = 1000 * time.Hour

// AgeKnown says whether Age means something: the oldest is known, or that nothing waits.
func (s Sale) AgeKnown() bool { return !s.Oldest.IsZero() || s.Waiting == 0 && !s.Stale }

// TimeToDrain is how long what waits takes at the drain rate, at most 1,000 hours; false
// when something waits and nothing is served, or the rate is not known, and when nobody
// knows whether something waits.
func (s Sale) TimeToDrain() (d time.Duration, known bool) {
	switch {
	case s.Waiting == 0:
		return 0, !s.Stale
	case s.DrainRate <= 0:
		return 0, false
	}
	seconds := min(float64(s.Waiting)/s.DrainRate, longest.Seconds())
	return time.Duration(seconds * float64(time.Second)), true
}
