// Package record keeps what an attack saw: latencies by class, and the answers
// and statuses of every reservation that buyers were told of.
package record

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Latencies above maxLatency are recorded as maxLatency.
const (
	maxLatency = 2 * time.Minute
	digits     = 3 // significant figures kept
)

// Summary of the latencies of one class, in milliseconds.
type Summary struct {
	Count int64   `json:"count"`
	P50   float64 `json:"p50"`
	P95   float64 `json:"p95"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

// Latencies are histograms by class. The zero value is empty and ready; it is
// safe for concurrent use.
type Latencies struct {
	mu      sync.Mutex
	classes map[string]*hdrhistogram.Histogram
}

// Add records one latency under its class.
func (l *Latencies) Add(class string, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// In range by the clamp, so it cannot fail.
	_ = l.histogram(class).RecordValue(min(max(d, 0), maxLatency).Microseconds())
}

// histogram of a class, new if need be. The caller holds mu.
func (l *Latencies) histogram(class string) *hdrhistogram.Histogram {
	h := l.classes[class]
	if h == nil {
		if l.classes == nil {
			l.classes = make(map[string]*hdrhistogram.Histogram)
		}
		h = hdrhistogram.New(1, maxLatency.Microseconds(), digits)
		l.classes[class] = h
	}
	return h
}

// Summaries returns one summary a class.
func (l *Latencies) Summaries() map[string]Summary {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(map[string]Summary, len(l.classes))
	for class, h := range l.classes {
		all[class] = Summary{
			Count: h.TotalCount(),
			P50:   milliseconds(h.ValueAtQuantile(50)), P95: milliseconds(h.ValueAtQuantile(95)),
			P99: milliseconds(h.ValueAtQuantile(99)), Max: milliseconds(h.Max()),
		}
	}
	return all
}

func milliseconds(us int64) float64 { return float64(us) / 1000 }
