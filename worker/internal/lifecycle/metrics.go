package lifecycle

import (
	"github.com/prometheus/client_golang/prometheus"

	"sluice/shared/sale"
)

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

// PaymentMetrics count what becomes of payment events, for all sales together.
type PaymentMetrics struct {
	received *prometheus.CounterVec // by what was there before
	applied  *prometheus.CounterVec // by result
	owed     prometheus.Gauge
	waiting  prometheus.Gauge
}

// NewPaymentMetrics registers the metrics, every label at zero.
func NewPaymentMetrics(registry prometheus.Registerer) *PaymentMetrics {
	m := &PaymentMetrics{
		received: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_payment_events_total", Help: "Payment events that this worker received, by what was known of them."}, []string{"known"}),
		applied: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_payments_total", Help: "Payment events that this worker applied, by result."}, []string{"result"}),
		owed: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sluice_refunds_owed", Help: "Payments that are to be refunded, as Postgres has them."}),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sluice_payments_waiting", Help: "Payment events that are not applied yet, as Postgres has them."}),
	}
	for _, known := range []string{ReceivedNew, ReceivedBefore, ReceivedOtherwise, ReceivedUnreadable} {
		m.received.WithLabelValues(known)
	}
	for _, result := range []sale.PaymentResult{sale.PaymentPaid, sale.PaymentReplaced, sale.PaymentOwed, sale.PaymentNoted,
		sale.PaymentRefunded, sale.PaymentSettled, sale.PaymentWrongAmount, sale.PaymentNotPaid} {
		m.applied.WithLabelValues(string(result))
	}
	registry.MustRegister(m.received, m.applied, m.owed, m.waiting)
	return m
}
