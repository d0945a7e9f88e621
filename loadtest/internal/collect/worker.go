package collect

import (
	"context"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// Worker is what one worker has done since it started, and how it paces itself.
type Worker struct {
	At          time.Time
	Ordered     float64 // orders made
	Redelivered float64 // hand-overs
	Commits     Histogram
	Told        bool // it tells its pace; else what follows means nothing
	Pace        float64
	P90, Target time.Duration
	LimitedBy   string
	Consumers   float64 // order transactions that may be in flight
}

// ReadWorker scrapes a worker, given by the URL of its ops listener.
func ReadWorker(ctx context.Context, opsURL string) (Worker, error) {
	families, err := metrics(ctx, opsURL+"/metrics")
	if err != nil {
		return Worker{}, err
	}
	w := workerOf(families)
	w.At = time.Now()
	return w, nil
}

func workerOf(families map[string]*dto.MetricFamily) Worker {
	w := Worker{Commits: histogramOf(families["sluice_order_commit_seconds"])}
	for _, m := range families["sluice_orders_total"].GetMetric() {
		if label(m, "fate") == "ordered" {
			w.Ordered = m.GetCounter().GetValue()
		}
	}
	for _, m := range families["sluice_redelivered_total"].GetMetric() {
		w.Redelivered += m.GetCounter().GetValue()
	}
	for _, m := range families["sluice_pace_limited_by"].GetMetric() {
		if m.GetGauge().GetValue() == 1 {
			w.LimitedBy = label(m, "limit")
		}
	}
	w.Pace, w.Told = gauge(families, "sluice_pace_orders_per_second")
	p90, _ := gauge(families, "sluice_pace_p90_seconds")
	target, _ := gauge(families, "sluice_pace_target_seconds")
	w.P90, w.Target = seconds(p90), seconds(target)
	w.Consumers, _ = gauge(families, "sluice_consumers")
	return w
}

func gauge(families map[string]*dto.MetricFamily, name string) (value float64, found bool) {
	for _, m := range families[name].GetMetric() {
		return m.GetGauge().GetValue(), true
	}
	return 0, false
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
