package fulfil

import "github.com/prometheus/client_golang/prometheus"

// Reasons for giving hand-overs back.
const (
	returnedFault   = "fault"
	returnedRefused = "refused"
)

// Metrics count what the roles do, for all sales together.
type Metrics struct {
	orders          *prometheus.CounterVec // by fate
	returned        *prometheus.CounterVec // by reason
	settled         prometheus.Counter
	swept           prometheus.Counter
	releasesApplied prometheus.Counter
	redelivered     prometheus.Counter
	lost            prometheus.Counter
	deadLetters     *prometheus.CounterVec // by kind
	batchSize       prometheus.Histogram
	commitSeconds   prometheus.Histogram
	releaseDelay    prometheus.Histogram
}

// Kinds of dead letter.
const (
	deadInvalid    = "invalid"    // a reservation
	deadUnreadable = "unreadable" // a hand-over
)

// NewMetrics registers the metrics, every label at zero.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	vector := func(name, help, label string, values ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
		for _, value := range values {
			v.WithLabelValues(value)
		}
		return v
	}
	m := &Metrics{
		orders: vector("sluice_orders_total", "Reservations decided, by fate.", "fate",
			FateOrdered, FateKnown, FateDuplicate, FateSurplus, FateInvalid, FateSuperseded),
		returned: vector("sluice_hand_overs_returned_total", "Faults and refused hand-overs that made a worker give hand-overs back.", "reason",
			returnedFault, returnedRefused),
		settled:         counter("sluice_settled_total", "Tickets settled."),
		swept:           counter("sluice_swept_total", "Reservations that the sweeper handed over again."),
		releasesApplied: counter("sluice_releases_applied_total", "Releases applied to Redis."),
		redelivered:     counter("sluice_redelivered_total", "Hand-overs delivered again."),
		lost:            counter("sluice_lost_total", "Reservations that no hand-over would bring any more, handed over again."),
		deadLetters: vector("sluice_dead_letters_total", "Dead letters written, by kind.", "kind",
			deadInvalid, deadUnreadable),
		batchSize: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sluice_order_batch_size", Help: "Reservations in one order transaction.",
			Buckets: []float64{1, 2, 5, 10, 20, 50, 100, 200, 300, 400, MaxBatch},
		}),
		commitSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sluice_order_commit_seconds", Help: "Duration of one order transaction.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}),
		releaseDelay: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sluice_release_delay_seconds", Help: "From the end of the time to pay until the unit of the expired order could be sold again.",
			Buckets: []float64{0.05, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 30, 60, 300},
		}),
	}
	registry.MustRegister(m.orders, m.returned, m.settled, m.swept, m.releasesApplied, m.redelivered,
		m.lost, m.deadLetters, m.batchSize, m.commitSeconds, m.releaseDelay)
	return m
}
