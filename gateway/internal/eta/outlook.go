package eta

import (
	"math"
	"time"
)

const (
	growing  = 0.1                    // a second: workers raise their pace by 5 % and now and then double it
	doubling = math.Ln2               // a second: how a pace that has not found its limit grows
	fall     = 2.5                    // high allows for a fall by half, and then some
	transit  = 500 * time.Millisecond // from a reservation to its commit and from there to its buyer, at the most
	longest  = 24 * time.Hour
)

// Outlook is what is to be expected of a sale's workers, as of when one of them last
// spoke. The zero value expects nothing.
type Outlook struct {
	heard  time.Time
	pace   float64         // now
	usual  [scales]float64 // smoothed
	best   float64         // lately
	growth float64         // by which the best may rise, a second
	batch  float64         // reservations served at a time
}

// Pace is how many reservations a second are to be expected at now; 0 when unknown.
func (o Outlook) Pace(now time.Time) float64 {
	if now.Sub(o.heard) > silence {
		return 0
	}
	return o.pace
}

// Range is in how many seconds from now the outcome of a ticket is to be expected
// before which ahead others are served; false when that is unknown. Below zero they were
// served though their turn is after the ticket's: some of them may be, but who is
// overtaken by more than are served until high, waits for something else.
func (o Outlook) Range(now time.Time, ahead int64) (low, high float64, ok bool) {
	if o.Pace(now) <= 0 {
		return 0, 0, false
	}
	slack := max(transit.Seconds(), o.batch/o.usual[slackScale])
	if float64(-ahead) > 2*slack*o.pace {
		return 0, 0, false
	}
	n := float64(max(0, ahead))
	low = soonest(n/o.best, o.growth) - slack
	high = max(fall*n/o.usualFor(n), n/o.pace) + 2*slack
	return tenths(max(0, low), math.Floor), tenths(min(high, longest.Seconds()), math.Ceil), true
}

// soonest is in how many seconds it is done what takes so many at a steady pace, when
// the pace grows.
func soonest(seconds, growth float64) float64 { return math.Log1p(growth*seconds) / growth }

// usualFor is the usual pace on the scale of a ticket's own wait, between the two
// scales that are nearest to it.
func (o Outlook) usualFor(ahead float64) float64 {
	wait := ahead / o.usual[scales-1] / firstScale.Seconds()
	at := min(math.Log2(max(1, wait)), scales-1)
	i := min(int(at), scales-2)
	part := at - float64(i)
	return o.usual[i]*(1-part) + o.usual[i+1]*part
}

func tenths(seconds float64, round func(float64) float64) float64 { return round(seconds*10) / 10 }
