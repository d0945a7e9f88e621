package fulfil

import "time"

// meterSamples spans five seconds at four samples a second.
const meterSamples = 21

// meter turns a growing count into a rate over the last samples. The zero value
// is ready.
type meter struct {
	epoch   int64
	samples [meterSamples]meterSample
	n       int // samples ever added at this epoch
}

type meterSample struct {
	at     time.Time
	served int64
}

// add takes a sample and returns the count a second; a new epoch starts over.
func (m *meter) add(at time.Time, epoch, served int64) float64 {
	if epoch != m.epoch {
		*m = meter{epoch: epoch}
	}
	m.samples[m.n%meterSamples] = meterSample{at, served}
	m.n++
	oldest := m.samples[0]
	if m.n > meterSamples {
		oldest = m.samples[m.n%meterSamples]
	}
	passed := at.Sub(oldest.at).Seconds()
	if passed <= 0 {
		return 0
	}
	return float64(served-oldest.served) / passed
}
