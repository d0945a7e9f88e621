package pacing

import "github.com/prometheus/client_golang/prometheus"

// Collector tells the state of a pacer as it is when it is asked.
type Collector struct {
	pacer  *Pacer
	gauges []gauge
	limit  *prometheus.Desc
}

type gauge struct {
	desc  *prometheus.Desc
	value func(State) float64
}

// Collector is to be registered once.
func (p *Pacer) Collector() *Collector {
	of := func(name, help string, value func(State) float64) gauge {
		return gauge{prometheus.NewDesc(name, help, nil, nil), value}
	}
	return &Collector{pacer: p, gauges: []gauge{
		of("sluice_pace_orders_per_second", "Orders a second that this worker allows itself.", func(s State) float64 { return s.Pace }),
		of("sluice_pace_p90_seconds", "P90 of the order transactions of the last window.", func(s State) float64 { return s.P90.Seconds() }),
		of("sluice_pace_target_seconds", "What it should be; more than configured while the database is slow.", func(s State) float64 { return s.Target.Seconds() }),
		of("sluice_pace_floor_orders_per_second", "Least orders a second that this worker allows itself.", func(s State) float64 { return s.Floor }),
		of("sluice_pace_ceiling_orders_per_second", "Most orders a second that this worker allows itself.", func(s State) float64 { return s.Ceiling }),
		of("sluice_pace_paused", "1 while operators have stopped the writing of orders.", func(s State) float64 { return one(s.Paused) }),
		of("sluice_consumers", "Order transactions that may be in flight now.", func(s State) float64 { return float64(s.Consumers) }),
		of("sluice_consumers_max", "Most that may ever be.", func(s State) float64 { return float64(s.ConsumersMax) }),
		of("sluice_order_batch_max", "Most reservations in one order transaction.", func(State) float64 { return MaxBatch }),
		of("sluice_workers_wanted", "Workers that would serve what waits within the promise, at this one's rate.",
			func(s State) float64 { return float64(s.WorkersWanted) }),
	}, limit: prometheus.NewDesc("sluice_pace_limited_by", "1 for what keeps this worker from making orders faster.", []string{"limit"}, nil)}
}

// Describe is for the registry.
func (c *Collector) Describe(descs chan<- *prometheus.Desc) {
	for _, g := range c.gauges {
		descs <- g.desc
	}
	descs <- c.limit
}

// Collect is for the registry.
func (c *Collector) Collect(metrics chan<- prometheus.Metric) {
	s := c.pacer.State()
	for _, g := range c.gauges {
		metrics <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, g.value(s))
	}
	for _, l := range Limits() {
		metrics <- prometheus.MustNewConstMetric(c.limit, prometheus.GaugeValue, one(l == s.LimitedBy), string(l))
	}
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
