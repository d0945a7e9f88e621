package console

import "time"

// meterSpan is the time over which a rate is taken, if looks are that close together.
const meterSpan = 5 * time.Second

// meter turns a growing count into a rate. The zero value is ready.
type meter struct {
	epoch   int64
	samples []reading
}

type reading struct {
	at    time.Time
	count int64
}

// add takes a reading and returns the count a second; negative when it is not known yet. A
// new epoch, or a count that went back, starts over.
func (m *meter) add(at time.Time, epoch, count int64) float64 {
	if n := len(m.samples); epoch != m.epoch || n > 0 && count < m.samples[n-1].count {
		*m = meter{epoch: epoch}
	}
	m.samples = append(m.samples, reading{at, count})
	for len(m.samples) > 2 && at.Sub(m.samples[1].at) >= meterSpan {
		m.samples = m.samples[1:]
	}
	passed := at.Sub(m.samples[0].at).Seconds()
	if passed <= 0 {
		return unknown
	}
	return float64(count-m.samples[0].count) / passed
}
