package eta

import (
	"math"
	"time"
)

const (
	scales     = 5                // usual paces, each half as quick to fall as the one before
	firstScale = time.Second      // in which the quickest falls
	slackScale = 3                // the one that batches are timed by
	rising     = 2 * time.Second  // in which all of them rise
	half       = 30 * time.Second // of what the best pace is remembered for
)

// paces are the pace now, and what has become of those before. The zero value knows
// none.
type paces struct {
	now   float64
	at    time.Time // when it was
	usual [scales]float64
	bests [2]float64 // of this half minute, and of the one before
	since time.Time  // when this half minute began
}

func (p *paces) best() float64 { return max(p.bests[0], p.bests[1]) }

// follow takes in the pace at now, and what it may be at best. The first is believed at
// once.
func (p *paces) follow(now time.Time, pace, best float64) {
	if p.at.IsZero() {
		*p = paces{since: now}
		for i := range p.usual {
			p.usual[i] = pace
		}
	} else {
		p.smooth(now.Sub(p.at), pace)
	}
	if now.Sub(p.since) > half {
		p.bests, p.since = [2]float64{0, p.bests[0]}, now
	}
	p.bests[0] = max(p.bests[0], best)
	p.now, p.at = pace, now
}

func (p *paces) smooth(passed time.Duration, pace float64) {
	for i := range p.usual {
		takes := firstScale << i
		if pace > p.usual[i] {
			takes = rising
		}
		p.usual[i] += (pace - p.usual[i]) * (1 - math.Exp(-passed.Seconds()/takes.Seconds()))
	}
}
