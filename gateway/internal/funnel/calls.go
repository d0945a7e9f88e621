package funnel

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Calls measures the calls that the funnel makes of the stores.
type Calls struct {
	inFlight *prometheus.GaugeVec
	seconds  *prometheus.HistogramVec
	size     *prometheus.HistogramVec
	faults   *prometheus.CounterVec
	attempts *prometheus.HistogramVec
}

// Names of the funnel's calls.
const (
	callReserve   = "reserve"
	callHandOver  = "hand_over"
	callStrikeOff = "strike_off"
)

// NewCalls registers the funnel's call metrics.
func NewCalls(reg prometheus.Registerer) *Calls {
	labels := []string{"call"}
	c := &Calls{
		inFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sluice_calls_in_flight", Help: "Calls of the stores under way."}, labels),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sluice_call_seconds", Help: "Time that calls of the stores took, failed ones too.",
			Buckets: []float64{.0001, .00025, .0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5}}, labels),
		size: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sluice_call_size", Help: "Attempts or reservations that travelled together in a call.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128, 256}}, labels),
		faults: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_call_faults_total", Help: "Calls that failed, with an unknown outcome."}, labels),
	}
	c.attempts = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "sluice_attempt_seconds", Help: "Time from the token check to the answer of attempts that memory did not refuse, by outcome.",
		Buckets: []float64{.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10}}, []string{"outcome"})
	reg.MustRegister(c.inFlight, c.seconds, c.size, c.faults, c.attempts)
	for _, call := range []string{callReserve, callHandOver, callStrikeOff} {
		c.inFlight.WithLabelValues(call).Set(0)
		c.faults.WithLabelValues(call).Add(0)
	}
	return c
}

// begin counts a call of size into flight; end is called with its error.
func (c *Calls) begin(call string, size int) (end func(error)) {
	start := time.Now()
	c.inFlight.WithLabelValues(call).Inc()
	c.size.WithLabelValues(call).Observe(float64(size))
	return func(err error) {
		c.inFlight.WithLabelValues(call).Dec()
		c.seconds.WithLabelValues(call).Observe(time.Since(start).Seconds())
		if err != nil {
			c.faults.WithLabelValues(call).Inc()
		}
	}
}
