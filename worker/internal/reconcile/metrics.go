package reconcile

import (
	"github.com/prometheus/client_golang/prometheus"

	"sluice/shared/sale"
)

// Metrics say what the last run found, for all sales together.
type Metrics struct {
	deviations *prometheus.GaugeVec   // by kind
	repaired   *prometheus.CounterVec // by kind
	finished   prometheus.Gauge
}

// NewMetrics registers the metrics, every label at zero.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		deviations: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sluice_reconciliation_deviations", Help: "What the last reconciliation found that needs a person, by kind."}, []string{"kind"}),
		repaired: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_reconciliation_repaired_total", Help: "Deviations that this worker put right, by kind."}, []string{"kind"}),
		finished: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sluice_reconciliation_finished_timestamp_seconds", Help: "When the last reconciliation was finished, by whichever worker; 0 before the first."}),
	}
	for _, kind := range Kinds() {
		m.deviations.WithLabelValues(kind)
	}
	for _, kind := range []string{StockHigh, StockLow, SoldOutFlag} {
		m.repaired.WithLabelValues(kind)
	}
	registry.MustRegister(m.deviations, m.repaired, m.finished)
	return m
}

func (m *Metrics) show(run sale.ReconciliationRun) {
	for _, kind := range Kinds() {
		m.deviations.WithLabelValues(kind).Set(float64(run.ByKind[kind]))
	}
	m.finished.Set(float64(run.FinishedAt.Unix()))
}
