package backlog

import "time"

const (
	meterSpan    = 5 * time.Second
	meterSpacing = meterSpan / 25 // samples that come faster are not kept
	meterSamples = 26
)

// Meter turns a growing count into a rate over the last five seconds, or since the last
// sample when that is longer ago. The zero value is ready. It is not safe for concurrent use.
type Meter struct {
	epoch   int64
	samples [meterSamples]meterSample // a ring
	first   int                       // index of the oldest kept
	n       int                       // samples kept
}

type meterSample struct {
	at     time.Time
	served int64
}

// Add takes a sample and returns the count a second; measured is false for the first of
// an epoch, which starts over.
func (m *Meter) Add(at time.Time, epoch, served int64) (rate float64, measured bool) {
	if epoch != m.epoch {
		*m = Meter{epoch: epoch}
	}
	for m.n > 1 && at.Sub(m.at(1).at) >= meterSpan {
		m.drop()
	}
	rate, measured = m.rate(at, served)
	if m.n == 0 || at.Sub(m.at(m.n-1).at) >= meterSpacing {
		m.keep(meterSample{at, served})
	}
	return rate, measured
}

func (m *Meter) rate(at time.Time, served int64) (rate float64, measured bool) {
	if m.n == 0 {
		return 0, false
	}
	oldest := m.at(0)
	passed := at.Sub(oldest.at).Seconds()
	if passed <= 0 {
		return 0, false
	}
	return max(0, float64(served-oldest.served)/passed), true
}

func (m *Meter) at(i int) meterSample { return m.samples[(m.first+i)%meterSamples] }

func (m *Meter) drop() { m.first, m.n = (m.first+1)%meterSamples, m.n-1 }

func (m *Meter) keep(s meterSample) {
	if m.n == meterSamples {
		m.drop()
	}
	m.samples[(m.first+m.n)%meterSamples] = s
	m.n++
}
