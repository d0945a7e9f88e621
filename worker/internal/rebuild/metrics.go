package rebuild

import "github.com/prometheus/client_golang/prometheus"

// Results of a run.
const (
	resultLive      = "live"
	resultFinished  = "finished"  // of one that another worker had taken live
	resultOvertaken = "overtaken" // a later one has begun elsewhere
	resultFailed    = "failed"    // and is tried again
)

// Metrics count rebuilds, of all sales together.
type Metrics struct {
	runs       *prometheus.CounterVec // by result
	requested  prometheus.Counter
	seconds    prometheus.Histogram
	rebuilding prometheus.Gauge
}

// NewMetrics registers the metrics, every label at zero.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_rebuilds_total", Help: "Rebuilds of a sale's Redis state that this worker ran, by result."}, []string{"result"}),
		requested: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sluice_rebuilds_requested_total", Help: "Sales that this worker found lost in Redis."}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sluice_rebuild_seconds", Help: "Time from taking a rebuild up until the sale was live again.",
			Buckets: []float64{1, 2, 5, 6, 7, 8, 10, 15, 20, 30, 60, 120, 300, 900}}),
		rebuilding: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sluice_sales_rebuilding", Help: "Sales that Postgres says are being loaded or rebuilt."}),
	}
	for _, result := range []string{resultLive, resultFinished, resultOvertaken, resultFailed} {
		m.runs.WithLabelValues(result)
	}
	registry.MustRegister(m.runs, m.requested, m.seconds, m.rebuilding)
	return m
}
