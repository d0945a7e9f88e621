package collect

import (
	"math"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// Histogram is a histogram as a process exports it, of seconds where a duration is asked
// of it.
type Histogram struct {
	Count   float64
	Sum     float64
	buckets []bucket
}

// bucket counts what took no longer than upTo seconds, that of the buckets before
// included.
type bucket struct{ upTo, count float64 }

func histogramOf(family *dto.MetricFamily) (h Histogram) {
	for _, m := range family.GetMetric() {
		h.Count, h.Sum = float64(m.GetHistogram().GetSampleCount()), m.GetHistogram().GetSampleSum()
		for _, b := range m.GetHistogram().GetBucket() {
			h.buckets = append(h.buckets, bucket{b.GetUpperBound(), float64(b.GetCumulativeCount())})
		}
	}
	return h
}

// Since is what was added to the histogram that it was before.
func (h Histogram) Since(before Histogram) Histogram {
	d := Histogram{Count: h.Count - before.Count, Sum: h.Sum - before.Sum, buckets: make([]bucket, len(h.buckets))}
	for i, b := range h.buckets {
		if i < len(before.buckets) {
			b.count -= before.buckets[i].count
		}
		d.buckets[i] = b
	}
	return d
}

// Plus is what two processes saw, with the same buckets.
func (h Histogram) Plus(other Histogram) Histogram {
	sum := Histogram{Count: h.Count + other.Count, Sum: h.Sum + other.Sum, buckets: make([]bucket, max(len(h.buckets), len(other.buckets)))}
	for i := range sum.buckets {
		for _, part := range []Histogram{h, other} {
			if i < len(part.buckets) {
				sum.buckets[i].upTo = part.buckets[i].upTo
				sum.buckets[i].count += part.buckets[i].count
			}
		}
	}
	return sum
}

// Quantile is about what a share of all stays within: inside a bucket it takes them as
// spread evenly, and what is beyond the last one as just there. 0 when there is none.
func (h Histogram) Quantile(share float64) time.Duration {
	rank := share * h.Count
	from := bucket{}
	for _, b := range h.buckets {
		if math.IsInf(b.upTo, 1) {
			break
		}
		if b.count >= rank && b.count > from.count {
			within := (rank - from.count) / (b.count - from.count)
			return seconds(from.upTo + within*(b.upTo-from.upTo))
		}
		from = b
	}
	if h.Count == 0 {
		return 0
	}
	return seconds(from.upTo)
}
