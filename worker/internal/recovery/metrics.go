package recovery

import "github.com/prometheus/client_golang/prometheus"

// Metrics say when Postgres was behind, and what it got back.
type Metrics struct {
	behind    prometheus.Counter
	restored  *prometheus.CounterVec // by what
	surplus   prometheus.Counter
	unchecked prometheus.Gauge
}

// What is restored.
const (
	restoredClosed  = "closed"
	restoredOrdered = "ordered"
	restoredPaid    = "paid"

	restoredAdjusted = "adjusted" // no orders but changes of a total
)

// NewMetrics registers the metrics, every label at zero.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		behind: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sluice_postgres_behind_total", Help: "Times that this worker found Postgres without commits that the other stores know of."}),
		restored: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_postgres_restored_total", Help: "Orders, and adjustments, that Postgres got back from the other stores, by what was restored."}, []string{"what"}),
		surplus: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sluice_postgres_restored_surplus_total", Help: "Orders that found no unit when Postgres got them back."}),
		unchecked: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sluice_postgres_unchecked", Help: "1 while Postgres waits to be compared with the other stores, or is being brought back."}),
	}
	for _, what := range []string{restoredClosed, restoredOrdered, restoredPaid, restoredAdjusted} {
		m.restored.WithLabelValues(what)
	}
	registry.MustRegister(m.behind, m.restored, m.surplus, m.unchecked)
	return m
}
