package pacing

import (
	"slices"
	"time"
)

const (
	windowTime    = time.Second
	windowSamples = 50
	longestWindow = 5 * time.Second      // where fewer transactions than that come through
	clearlySlow   = windowSamples/10 + 1 // so many slow ones in 50 say that the p90 is over the target
	fewest        = 3                    // of which one is let pass
	clearlyWell   = 10                   // so many, none of them slow, will do
	fewWell       = 5                    // in twice the time
	afterLeap     = 250 * time.Millisecond
	leastBorne    = 0.75 // of what came through in the window: a stall is not all there is
)

// Sample is one order transaction.
type Sample struct {
	Began   time.Time
	Latency time.Duration
	Cost    float64 // see Cost
	Failed  bool    // by a timeout, or for want of connections
	Extra   bool    // of a batch that is halved: it may have waited for others of its own sale
}

// window holds the transactions that ended since it began.
type window struct {
	since     time.Time
	latencies []time.Duration
	cost      float64
	errors    int
	slow      int

	// What came through since the first slow one: of a window in which the database
	// became slow it is the part that tells what it bears now.
	slowAt    time.Time // zero for none
	slowCost  float64
	slowCount int
	lastAt    time.Time
}

func (w *window) add(at time.Time, s Sample, target time.Duration) {
	if s.Failed {
		w.errors++
		return
	}
	w.cost += s.Cost
	if s.Extra {
		return
	}
	w.latencies = append(w.latencies, s.Latency)
	w.lastAt = at
	if !w.slowAt.IsZero() {
		w.slowCost += s.Cost
		w.slowCount++
	}
	if s.Latency > target {
		w.slow++
		if w.slowAt.IsZero() {
			w.slowAt = at
		}
	}
}

// complete reports whether the window says enough. It ends early once its verdict is
// certain, at once when the pace has leapt too far, and soon when it only looks.
func (w *window) complete(now time.Time, leapt, looking bool) bool {
	age, n := w.age(now), len(w.latencies)
	allSlow := w.slow == n && n >= fewest
	certain := n >= windowSamples || w.errors > 0 || w.slow >= clearlySlow || allSlow || n >= clearlyWell && w.slow == 0
	if looking && n >= fewest {
		return true
	}
	certain = certain || age >= 2*windowTime && n >= fewWell && w.slow == 0
	return age >= windowTime && certain || age >= longestWindow || leapt && w.slow >= fewest && 2*w.slow >= n && age >= afterLeap
}

func (w *window) age(now time.Time) time.Duration { return now.Sub(w.since) }

// rate is the cost a second.
func (w *window) rate(now time.Time) float64 {
	return w.cost / max(w.age(now), time.Millisecond).Seconds()
}

// borne is the cost a second that came through while it was slow: that is what the
// database bears. Few transactions say it roughly.
func (w *window) borne(now time.Time) float64 {
	if passed := w.lastAt.Sub(w.slowAt).Seconds(); w.slowCount >= 2 && passed > 0 {
		return max(w.slowCost/passed, leastBorne*w.rate(now))
	}
	return w.rate(now)
}

// p90 is the latency that nine of ten do not exceed; false without samples. Of less than
// ten one may exceed it too, for one says little.
func (w *window) p90() (time.Duration, bool) {
	n := len(w.latencies)
	if n == 0 {
		return 0, false
	}
	slices.Sort(w.latencies)
	if n >= fewest && n < 10 {
		return w.latencies[n-2], true
	}
	return w.latencies[(9*n+9)/10-1], true
}

func (w *window) reset(now time.Time) { *w = window{since: now, latencies: w.latencies[:0]} }
