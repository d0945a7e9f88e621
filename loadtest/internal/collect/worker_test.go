package collect

import (
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
)

const workerMetrics = `# TYPE sluice_orders_total counter
sluice_orders_total{fate="known"} 7
sluice_orders_total{fate="ordered"} 1200
sluice_orders_total{fate="surplus"} 4
# TYPE sluice_redelivered_total counter
sluice_redelivered_total 3
# TYPE sluice_order_commit_seconds histogram
sluice_order_commit_seconds_bucket{le="0.032"} 10
sluice_order_commit_seconds_bucket{le="0.064"} 20
sluice_order_commit_seconds_bucket{le="+Inf"} 20
sluice_order_commit_seconds_sum 1
sluice_order_commit_seconds_count 20
`

const foundMetrics = `# TYPE sluice_reconciliation_deviations gauge
sluice_reconciliation_deviations{kind="stock_low"} 0
sluice_reconciliation_deviations{kind="surplus_rejected"} 4
# TYPE sluice_alerts gauge
sluice_alerts{alert="DeadLetters",state="firing"} 0
sluice_alerts{alert="DeadLetters",state="pending"} 1
sluice_alerts{alert="SurplusRejected",state="firing"} 1
`

const paceMetrics = `# TYPE sluice_pace_orders_per_second gauge
sluice_pace_orders_per_second 4000
# TYPE sluice_pace_p90_seconds gauge
sluice_pace_p90_seconds 0.04
# TYPE sluice_pace_target_seconds gauge
sluice_pace_target_seconds 0.05
# TYPE sluice_consumers gauge
sluice_consumers 2
# TYPE sluice_pace_limited_by gauge
sluice_pace_limited_by{limit="demand"} 0
sluice_pace_limited_by{limit="latency"} 1
`

func workerFrom(t *testing.T, text string) Worker {
	t.Helper()
	return workerOf(familiesOf(t, text))
}

func familiesOf(t *testing.T, text string) map[string]*dto.MetricFamily {
	t.Helper()
	families, err := parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return families
}

func TestWorker_IsReadWithAndWithoutAPace(t *testing.T) {
	t.Parallel()
	without := workerFrom(t, workerMetrics)
	if without.Told || without.Ordered != 1200 || without.Redelivered != 3 || without.Commits.Count != 20 {
		t.Errorf("without a pace: %+v", without)
	}
	with := workerFrom(t, workerMetrics+paceMetrics)
	if !with.Told || with.Pace != 4000 || with.P90 != 40*time.Millisecond || with.Target != 50*time.Millisecond || with.LimitedBy != "latency" || with.Consumers != 2 {
		t.Errorf("with a pace: %+v", with)
	}
}

func TestHistogram_QuantilesOfADifferenceAndASum(t *testing.T) {
	t.Parallel()
	old := workerFrom(t, workerMetrics).Commits
	grown := workerFrom(t, strings.ReplaceAll(workerMetrics, "} 20", "} 110")).Commits
	grown.Count = 110
	added := grown.Since(old)
	for name, c := range map[string]struct{ got, want time.Duration }{
		"half of all":       {old.Quantile(0.5), 32 * time.Millisecond},
		"90 % of all":       {old.Quantile(0.9), 57600 * time.Microsecond},
		"half of added":     {added.Quantile(0.5), 48 * time.Millisecond},
		"twice the same":    {old.Plus(old).Quantile(0.9), 57600 * time.Microsecond},
		"nothing":           {Histogram{}.Quantile(0.9), 0},
		"nothing was added": {old.Since(old).Quantile(0.9), 0},
	} {
		if (c.got - c.want).Abs() > time.Microsecond {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
}

func TestWorker_SaysWhatDeviatesAndWhatFires(t *testing.T) {
	t.Parallel()
	w := workerFrom(t, workerMetrics+foundMetrics)
	if w.Surplus != 4 || w.Decided != 1211 {
		t.Errorf("%v surplus of %v decided", w.Surplus, w.Decided)
	}
	if len(w.Deviations) != 1 || w.Deviations["surplus_rejected"] != 4 || len(w.Firing) != 1 || !w.Firing["SurplusRejected"] {
		t.Errorf("deviations %v, firing %v", w.Deviations, w.Firing)
	}
}
