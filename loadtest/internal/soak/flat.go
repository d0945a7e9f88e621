package soak

import (
	"slices"
	"time"

	"sluice/loadtest/internal/report"
)

// Something is flat if, over the second half of a soak, it does not grow by more than a part
// of what it is, or by more than what comes and goes, whichever is more. How much it grows is told by the
// Theil–Sen estimator: the median of the slopes between all pairs of readings, times
// the time between the first and the last of them. One that is started again, a peak and a
// valley move it little, and a leak moves it all.
const (
	mayGrow       = 0.2 // of the median of the second half
	countedMay    = 0.1 // of that of what is counted
	leastReadings = 12  // in the second half: fewer show nothing, and fail
)

// reading is a value at a moment.
type reading struct {
	at    time.Duration // since the attempts began
	value float64
}

// slope is the median of the slopes between all pairs, a second.
func slope(readings []reading) float64 {
	var slopes []float64
	for i, a := range readings {
		for _, b := range readings[:i] {
			if a.at > b.at {
				slopes = append(slopes, (a.value-b.value)/(a.at-b.at).Seconds())
			}
		}
	}
	return median(slopes)
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	if n := len(sorted); n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[len(sorted)/2]
}

func (q quantity) part() float64 {
	if q.counted {
		return countedMay
	}
	return mayGrow
}

// judgeSeries says whether what was read is flat.
func judgeSeries(what quantity, all []reading, lasts time.Duration) report.Growth {
	second := slices.DeleteFunc(slices.Clone(all), func(r reading) bool { return r.at < lasts/2 })
	g := report.Growth{Name: what.name, Unit: what.unit, Kept: what.kept, Readings: len(second)}
	for _, r := range all {
		g.Points = append(g.Points, report.GrowthPoint{T: r.at.Seconds(), Value: r.value})
	}
	if len(second) < leastReadings {
		return g
	}
	values := make([]float64, len(second))
	for i, r := range second {
		values[i] = r.value
	}
	g.Judged, g.Median = what.kept == "", median(values)
	g.Grew = slope(second) * (second[len(second)-1].at - second[0].at).Seconds()
	g.May = max(what.part()*g.Median, what.comesAndGoes)
	g.Flat = g.Grew <= g.May
	return g
}
