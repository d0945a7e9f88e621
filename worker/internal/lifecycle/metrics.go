package lifecycle

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/shared/retirement"
	"sluice/shared/sale"
)

// Metrics count what becomes of orders and of sales that are over, for all sales
// together.
type Metrics struct {
	expired    prometheus.Counter
	replaced   prometheus.Counter
	scanPeriod prometheus.Gauge
	retired    prometheus.Counter
	blocked    *prometheus.GaugeVec // by reason
	purged     prometheus.Counter
	streamUsed *prometheus.GaugeVec // by cap
	fullest    atomic.Pointer[Used] // nil before the first look
}

// Caps of the streams.
const (
	usedBytes    = "bytes"
	usedPayments = "bytes_of_payments"
	usedMessages = "hand_overs_of_a_sale" // of the fullest
)

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		expired: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sluice_expired_total", Help: "Orders expired by this worker."}),
		replaced: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sluice_stream_replaced_total", Help: "Times that this worker found the stream or the catalogue's bucket gone, made anew, or an older copy."}),
		scanPeriod: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sluice_expiry_scan_period_seconds", Help: "How often this worker looks for orders to expire."}),
		retired: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sluice_sales_retired_total", Help: "Sales retired by this worker."}),
		blocked: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sluice_sales_not_retired", Help: "Sales past their retention that cannot be retired yet, by reason."}, []string{"reason"}),
		purged: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sluice_hand_overs_purged_total", Help: "Acknowledged hand-overs that this worker removed from the stream."}),
		streamUsed: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sluice_stream_used_ratio", Help: "How much of a cap of the streams is in use, 0 to 1."}, []string{"cap"}),
	}
	m.streamUsed.WithLabelValues(usedBytes)
	m.streamUsed.WithLabelValues(usedMessages)
	m.streamUsed.WithLabelValues(usedPayments)
	for _, kind := range retirement.Kinds() {
		m.blocked.WithLabelValues(kind)
	}
	registry.MustRegister(m.expired, m.replaced, m.scanPeriod, m.retired, m.blocked, m.purged, m.streamUsed)
	return m
}

// PaymentMetrics count what becomes of payment events, for all sales together.
type PaymentMetrics struct {
	received *prometheus.CounterVec // by what was there before
	applied  *prometheus.CounterVec // by result
	owed     prometheus.Gauge
	wrong    prometheus.Gauge
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
		wrong: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sluice_payments_wrong_amount", Help: "Payments and refunds of the last day that are not of their order's amount or currency, as Postgres has them."}),
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
	registry.MustRegister(m.received, m.applied, m.owed, m.wrong, m.waiting)
	return m
}
