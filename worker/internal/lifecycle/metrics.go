package lifecycle

import "github.com/prometheus/client_golang/prometheus"

// Metrics count what becomes of orders, for all sales together.
type Metrics struct {
	expired    prometheus.Counter
	replaced   prometheus.Counter
	scanPeriod prometheus.Gauge
}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		expired: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sluice_expired_total", Help: "Orders expired by this worker."}),
		replaced: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sluice_stream_replaced_total", Help: "Times that this worker found the stream or the catalogue's bucket gone, made anew, or an older copy."}),
		scanPeriod: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sluice_expiry_scan_period_seconds", Help: "How often this worker looks for orders to expire."}),
	}
	registry.MustRegister(m.expired, m.replaced, m.scanPeriod)
	return m
}
