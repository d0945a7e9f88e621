package alerts

import (
	"github.com/prometheus/client_golang/prometheus"

	"sluice/shared/sale"
)

// Results of notifications.
const (
	resultSent   = "sent"
	resultFailed = "failed"
)

// Metrics count alerts, as all workers see them, and notifications by this one.
type Metrics struct {
	alerts        *prometheus.GaugeVec   // by alert and state
	notifications *prometheus.CounterVec // by result
}

// NewMetrics registers the metrics, every label at zero.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		alerts: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sluice_alerts", Help: "Alerts that are pending and that fire; every worker shows the same."}, []string{"alert", "state"}),
		notifications: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_alert_notifications_total", Help: "Notifications that this worker tried to send, by result."}, []string{"result"}),
	}
	for _, result := range []string{resultSent, resultFailed} {
		m.notifications.WithLabelValues(result)
	}
	registry.MustRegister(m.alerts, m.notifications)
	m.show(nil)
	return m
}

func (m *Metrics) show(b book) {
	counts := map[sale.AlertName]map[sale.AlertState]int{}
	for key, a := range b {
		if counts[key.Name] == nil {
			counts[key.Name] = map[sale.AlertState]int{}
		}
		counts[key.Name][a.State]++
	}
	for _, name := range sale.AlertNames() {
		for _, state := range []sale.AlertState{sale.AlertPending, sale.AlertFiring} {
			m.alerts.WithLabelValues(string(name), string(state)).Set(float64(counts[name][state]))
		}
	}
}
