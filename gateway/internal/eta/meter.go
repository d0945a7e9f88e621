package eta

import "time"

const (
	meterSteps  = 32 // more than fit into the window, so far apart
	meterApart  = 100 * time.Millisecond
	meterWindow = 2 * time.Second // older steps no longer count, if there are leastSteps newer
	leastSteps  = 3
	measurable  = time.Second // of busy time, before a rate means anything
)

// meter measures how fast a sale is served while something waits. It keeps the
// moments at which served moved: batches are large, and a rate over a fixed time
// would swing with how many of them fall into it. The zero value is idle.
type meter struct {
	steps [meterSteps]step
	n     int // in use, oldest first; the first is where measuring began
}

type step struct {
	at     time.Time
	served int64
}

// idle forgets everything: time in which nobody waits says nothing about the pace.
func (m *meter) idle() { m.n = 0 }

func (m *meter) running() bool { return m.n > 0 }

func (m *meter) last() step { return m.steps[m.n-1] }

// add takes in what was served by now.
func (m *meter) add(now time.Time, served int64) {
	if m.running() && served <= m.last().served {
		return
	}
	if m.n >= 2 && m.last().at.Sub(m.steps[m.n-2].at) < meterApart { // many workers tell
		m.n--
	}
	drop := 0
	for m.n-drop == meterSteps || m.n-drop >= leastSteps && now.Sub(m.steps[drop+1].at) >= meterWindow {
		drop++
	}
	m.n = copy(m.steps[:], m.steps[drop:m.n])
	m.steps[m.n] = step{now, served}
	m.n++
}

// gap is the usual time between steps; 0 before there are two.
func (m *meter) gap() time.Duration {
	if m.n < 2 {
		return 0
	}
	return m.last().at.Sub(m.steps[0].at) / time.Duration(m.n-1)
}

// batch is how many are usually served in a step; 0 before there are two.
func (m *meter) batch() float64 {
	if m.n < 2 {
		return 0
	}
	return float64(m.last().served-m.steps[0].served) / float64(m.n-1)
}

// overdue is for how long the next step should have come; there is one.
func (m *meter) overdue(now time.Time) time.Duration {
	return max(0, now.Sub(m.last().at)-2*m.gap()-measurable/2)
}

// rate is what was served a second; false when it has measured for too short. It
// falls once the next step is overdue.
func (m *meter) rate(now time.Time) (perSecond float64, ok bool) {
	if m.n < 2 || now.Sub(m.steps[0].at) < measurable {
		return 0, false
	}
	passed := m.last().at.Add(m.overdue(now)).Sub(m.steps[0].at)
	return float64(m.last().served-m.steps[0].served) / passed.Seconds(), true
}
