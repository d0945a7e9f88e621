package eta

import (
	"time"

	"sluice/shared/sale"
)

const (
	settling = 2 * time.Second // after a backlog began, or the pace leapt, in which it may double again
	leap     = 1.4
	unproven = 500 // orders a second: a pace that was only told counts for no more

	stalled     = 10 * time.Second // nothing served though something waits: no pace is to be believed
	stalledGaps = 5                // or this many times what lies between two batches
)

// Estimator keeps what one sale's workers tell. It is not safe for concurrent use;
// the Outlook that it returns is a value. The zero value has heard nothing.
type Estimator struct {
	epoch   int64
	workers workers
	allowed float64 // by the workers together, when last heard
	meter   meter
	proven  float64 // the pace last measured
	served  int64
	moved   time.Time // when something was served last, or nothing waited
	paces   paces
	settles time.Time // when the pace no longer leaps, for all that is known
}

// Hear takes in a worker's word at now, with how many wait, and returns what to
// expect. Words of an older epoch are for the caller to drop.
func (e *Estimator) Hear(now time.Time, p sale.Progress, waiting int64) Outlook {
	if p.Epoch != e.epoch {
		*e = Estimator{epoch: p.Epoch, workers: e.workers}
	}
	e.workers.hear(now, p.Worker, p.Pace)
	allowed := e.workers.pace(now)
	e.notice(now, p.Served, waiting <= 0 || e.allowed == 0 && allowed > 0) // nothing waits, or a pause is over
	e.allowed = allowed
	e.measure(now, waiting, p.RatePerSecond)
	pace, best := e.pace(now, allowed, p.RatePerSecond)
	if pace <= 0 || e.stalled(now) {
		e.paces = paces{}
		return Outlook{}
	}
	e.paces.follow(now, pace, best)
	return Outlook{heard: now, pace: pace, usual: e.paces.usual, best: e.paces.best(), growth: e.growth(now), batch: e.meter.batch()}
}

// notice takes in how many are served, and whether what comes now begins anew. What was
// measured before a stall says nothing about what comes after.
func (e *Estimator) notice(now time.Time, served int64, anew bool) {
	moves := served > e.served || e.moved.IsZero()
	if anew || moves && e.stalled(now) {
		e.meter.idle()
	}
	if anew || moves {
		e.moved = now
	}
	e.served = max(e.served, served)
}

// measure lets the meter run from when more waits than workers have in hand anyway,
// until nothing does: a trickle is served as it comes, not as fast as it could be. What
// they have in hand goes by what they are seen to serve: a pace that they never had to
// keep up may be beyond any backlog.
func (e *Estimator) measure(now time.Time, waiting int64, told float64) {
	if e.meter.running() || float64(waiting) > min(e.allowed, max(told, unproven))/2 {
		e.meter.add(now, e.served)
	}
}

// still is how long nothing has been served though something waits.
func (e *Estimator) still(now time.Time) time.Duration { return now.Sub(e.moved) }

// stalled reports whether nothing has been served for too long.
func (e *Estimator) stalled(now time.Time) bool {
	return e.still(now) > max(stalled, stalledGaps*e.meter.gap())
}

// pace is the one of now, 0 when it is unknown, and what it may be at best. Until this
// gateway has measured, what the workers allow, or one of them measured, has to do: but
// an idle worker allows what it never had to keep up, and the longer nothing is served
// the less is believed.
func (e *Estimator) pace(now time.Time, allowed, told float64) (pace, best float64) {
	rate, measured := e.meter.rate(now)
	if measured && e.meter.overdue(now) == 0 {
		e.proven = rate
	}
	switch {
	case allowed > 0 && measured:
		pace = min(allowed, rate)
	case allowed > 0:
		return min(allowed, max(e.proven, unproven)/max(1, e.still(now).Seconds())), allowed
	case len(e.workers.told) > 0:
		return 0, 0 // they say that they are paused: what they have begun ends, and no more begins
	case measured:
		pace = rate
	default:
		pace = told
	}
	return pace, pace
}

// growth is by how much the pace may rise, a second.
func (e *Estimator) growth(now time.Time) float64 {
	if !e.meter.running() || e.paces.now > leap*e.paces.usual[0] {
		e.settles = now.Add(settling)
	}
	if now.Before(e.settles) {
		return doubling
	}
	return growing
}
