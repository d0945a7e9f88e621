package collect

import (
	"context"

	dto "github.com/prometheus/client_model/go"
)

// Calls are the calls of one kind that a gateway has made of a store.
type Calls struct {
	Size    Histogram // attempts or reservations that travelled together
	Seconds Histogram // that they took
}

// ReadCalls scrapes a gateway, given by the URL of its ops listener, for the calls of a name:
// reserve, hand_over or strike_off.
func ReadCalls(ctx context.Context, opsURL, name string) (Calls, error) {
	families, err := metrics(ctx, opsURL+"/metrics")
	if err != nil {
		return Calls{}, err
	}
	return Calls{Size: histogramLabelled(families["sluice_call_size"], name), Seconds: histogramLabelled(families["sluice_call_seconds"], name)}, nil
}

// histogramLabelled is the histogram of a call.
func histogramLabelled(family *dto.MetricFamily, call string) Histogram {
	for _, m := range family.GetMetric() {
		if label(m, "call") == call {
			return histogramOf(&dto.MetricFamily{Metric: []*dto.Metric{m}})
		}
	}
	return Histogram{}
}

// Since is what was called since before.
func (c Calls) Since(before Calls) Calls {
	return Calls{Size: c.Size.Since(before.Size), Seconds: c.Seconds.Since(before.Seconds)}
}

// Plus is what two gateways called.
func (c Calls) Plus(other Calls) Calls {
	return Calls{Size: c.Size.Plus(other.Size), Seconds: c.Seconds.Plus(other.Seconds)}
}

// Mean is what one was on average; 0 when there was none.
func (h Histogram) Mean() float64 {
	if h.Count == 0 {
		return 0
	}
	return h.Sum / h.Count
}
