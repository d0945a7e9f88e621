package backlog

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	waitingDesc = prometheus.NewDesc("sluice_backlog_waiting", "Reservations accepted and not yet settled.", []string{"sale"}, nil)
	oldestDesc  = prometheus.NewDesc("sluice_backlog_oldest_timestamp_seconds",
		"Since when the oldest reservation of the backlog waits, in unix seconds; absent while nothing waits.", []string{"sale"}, nil)
	rateDesc  = prometheus.NewDesc("sluice_backlog_drain_rate", "Reservations served a second, over the last five seconds.", []string{"sale"}, nil)
	drainDesc = prometheus.NewDesc("sluice_backlog_drain_seconds",
		"Time that the backlog takes at the drain rate; 0 when nothing waits, +Inf when something waits and nothing is served, absent while it is not known.", []string{"sale"}, nil)
	notLiveDesc = prometheus.NewDesc("sluice_sale_not_live",
		"1 while nobody can buy a sale whose window is open: Redis does not have its epoch, or it is being rebuilt; 0 otherwise.", []string{"sale"}, nil)
	promiseDesc  = prometheus.NewDesc("sluice_backlog_promise_seconds", "The age of a backlog that is promised at most.", nil, nil)
	failuresDesc = prometheus.NewDesc("sluice_backlog_read_failures_total", "Reads of a backlog that failed; what they are about is told as last known.", nil, nil)
)

// collector tells what the Watch knows at the moment of a scrape, so that nothing stays
// of a sale that is retired. The sale label has as many values as there are sales that
// are not.
type collector struct {
	watch   *Watch
	promise time.Duration
}

// Collector exports the backlog beside the age that is promised.
func (w *Watch) Collector(promise time.Duration) prometheus.Collector { return collector{w, promise} }

// Describe implements prometheus.Collector.
func (c collector) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{waitingDesc, oldestDesc, rateDesc, drainDesc, notLiveDesc, promiseDesc, failuresDesc} {
		descs <- d
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(metrics chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	for _, s := range c.watch.All() {
		gauge(waitingDesc, float64(s.Waiting), s.SaleID)
		if !s.Oldest.IsZero() {
			gauge(oldestDesc, float64(s.Oldest.UnixMilli())/1000, s.SaleID)
		}
		if s.Measured {
			gauge(rateDesc, s.DrainRate, s.SaleID)
		}
		switch left, known := s.TimeToDrain(); {
		case known:
			gauge(drainDesc, left.Seconds(), s.SaleID)
		case s.Measured && s.Waiting > 0:
			gauge(drainDesc, math.Inf(1), s.SaleID)
		}
	}
	for _, s := range c.watch.Standings() {
		value := 0.0
		if s.NotLive {
			value = 1
		}
		gauge(notLiveDesc, value, s.SaleID)
	}
	gauge(promiseDesc, c.promise.Seconds())
	metrics <- prometheus.MustNewConstMetric(failuresDesc, prometheus.CounterValue, float64(c.watch.failed()))
}

func (w *Watch) failed() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failures
}
