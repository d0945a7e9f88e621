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
	Decided     float64 // reservations, whatever their fate
	Known       float64 // of these, ones that had an outcome before
	Surplus     float64 // reservations rejected because no unit was left
	Settled     float64 // tickets
	Redelivered float64 // hand-overs
	Lost        float64 // reservations that no hand-over would have brought any more
	Commits     Histogram
	Batches     Histogram          // reservations of an order transaction
	BatchMax    float64            // most reservations of one
	Deviations  map[string]float64 // by kind, as the last comparison of the stores found, whichever worker's
	Firing      map[string]bool    // alerts, as all workers see them
	Told        bool               // it tells its pace; else what follows means nothing
	Pace        float64
	P90, Target time.Duration
	LimitedBy   string
	Consumers   float64 // order transactions that may be in flight
	Ceiling     float64 // most orders a second that it may ever allow itself
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
	w := Worker{Commits: histogramOf(families["sluice_order_commit_seconds"]), Batches: histogramOf(families["sluice_order_batch_size"])}
	for _, m := range families["sluice_orders_total"].GetMetric() {
		w.Decided += m.GetCounter().GetValue()
		switch label(m, "fate") {
		case "ordered":
			w.Ordered = m.GetCounter().GetValue()
		case "known":
			w.Known = m.GetCounter().GetValue()
		case "surplus":
			w.Surplus = m.GetCounter().GetValue()
		}
	}
	w.Deviations, w.Firing = deviationsOf(families), firingOf(families)
	for _, m := range families["sluice_settled_total"].GetMetric() {
		w.Settled += m.GetCounter().GetValue()
	}
	for _, m := range families["sluice_redelivered_total"].GetMetric() {
		w.Redelivered += m.GetCounter().GetValue()
	}
	for _, m := range families["sluice_lost_total"].GetMetric() {
		w.Lost += m.GetCounter().GetValue()
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
	w.Ceiling, _ = gauge(families, "sluice_pace_ceiling_orders_per_second")
	w.BatchMax, _ = gauge(families, "sluice_order_batch_max")
	return w
}

func deviationsOf(families map[string]*dto.MetricFamily) map[string]float64 {
	found := make(map[string]float64)
	for _, m := range families["sluice_reconciliation_deviations"].GetMetric() {
		if n := m.GetGauge().GetValue(); n > 0 {
			found[label(m, "kind")] = n
		}
	}
	return found
}

func firingOf(families map[string]*dto.MetricFamily) map[string]bool {
	firing := make(map[string]bool)
	for _, m := range families["sluice_alerts"].GetMetric() {
		if label(m, "state") == "firing" && m.GetGauge().GetValue() > 0 {
			firing[label(m, "alert")] = true
		}
	}
	return firing
}

// ReadCounter scrapes a process, given by the URL of its ops listener, and adds up a counter
// over its labels; over those alone where the label has the value, if one is named.
func ReadCounter(ctx context.Context, opsURL, name, labelled, value string) (sum float64, err error) {
	families, err := metrics(ctx, opsURL+"/metrics")
	if err != nil {
		return 0, err
	}
	for _, m := range families[name].GetMetric() {
		if labelled == "" || label(m, labelled) == value {
			sum += m.GetCounter().GetValue()
		}
	}
	return sum, nil
}

// progress grows whenever the worker has decided reservations or settled tickets, which is
// when it writes to Postgres in a sale.
func (w Worker) progress() float64 { return w.Decided + w.Settled }

func gauge(families map[string]*dto.MetricFamily, name string) (value float64, found bool) {
	for _, m := range families[name].GetMetric() {
		return m.GetGauge().GetValue(), true
	}
	return 0, false
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
