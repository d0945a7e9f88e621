package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/loadtest/internal/stack"
)

// receiver is told of alerts, as Alertmanager's webhooks are.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	heard map[string][]string // states of an alert, by its name
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{heard: map[string][]string{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		var told struct {
			Version string
			Alerts  []struct {
				Status      string
				Labels      map[string]string
				Fingerprint string
			}
		}
		if err := json.NewDecoder(req.Body).Decode(&told); err != nil || told.Version != "4" {
			t.Errorf("not a payload of version 4: %v, %+v", err, told)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, a := range told.Alerts {
			r.heard[a.Labels["alertname"]] = append(r.heard[a.Labels["alertname"]], a.Status)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) of(alert string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.heard[alert])
}

// All workers are stopped while attempts are accepted; the Prometheus rule fires from what
// the gateway tells. The first worker that is back tells the receiver, and is killed before
// it has served anybody; the next one does not tell it again, and tells the end.
func TestAlerts_OneFiringAndOneEndWhicheverWorkerIsThere(t *testing.T) {
	t.Parallel()
	const buyers = 40
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	told := newReceiver(t)
	s := openScene(ctx, t, buyers, buyers, stack.Config{
		Gateways: 1, Workers: 1, FirstEnv: map[string][]string{"gateway-0": {"SLUICE_BACKLOG_PROMISE=2s"}},
		WorkerSettings: []string{"SLUICE_BACKLOG_PROMISE=2s", "SLUICE_ALERT_BACKLOG_FOR=1s", "SLUICE_ALERT_WEBHOOK=" + told.URL},
	})
	s.withoutWorkers(ctx, func() {
		for i := range buyers {
			if status, answer := s.send(ctx, http.MethodPost, s.orders(i), s.tokens[i], ""); status != http.StatusAccepted {
				t.Fatalf("%d %s", status, answer)
			}
		}
		ops := s.stack.Info().Gateways[0].OpsURL
		s.until(ctx, "the gateway says that the promise is broken", func() bool {
			oldest := s.backlogOf(ctx, ops, "oldest_timestamp_seconds") // NaN while it is not known
			return float64(time.Now().Unix())-oldest > 4 && s.backlogOf(ctx, ops, "waiting") == buyers
		})
		_, text := s.send(ctx, http.MethodGet, ops+"/metrics", "", "")
		s.wantRule(text, "BacklogAgeHigh")
	}, "SLUICE_FAILPOINTS=worker.before_commit=error")
	s.until(ctx, "the worker that is back tells it", func() bool { return len(told.of("BacklogAgeHigh")) > 0 })
	info := s.stack.Info()
	s.until(ctx, "the admin API says so", func() bool {
		_, answer := s.send(ctx, http.MethodGet, info.Workers[0].AdminURL+"/admin/v1/alerts", info.Secrets.AdminToken, "")
		return strings.Contains(answer, `"alert":"BacklogAgeHigh","state":"firing","severity":"page","sale":"phone"`)
	})
	database := openDatabase(ctx, t, s)
	s.until(ctx, "it is written down that the receiver knows", func() (known bool) {
		s.must(database.QueryRow(ctx, `SELECT count(*) = 1 FROM alerts WHERE alert = 'BacklogAgeHigh' AND told = 'firing'`).Scan(&known))
		return known
	})
	s.withoutWorkers(ctx, func() {})
	s.until(ctx, "the next worker tells the end", func() bool { return slices.Contains(told.of("BacklogAgeHigh"), "resolved") })
	s.rest(ctx, nil, time.Minute)
	if got := told.of("BacklogAgeHigh"); !slices.Equal(got, []string{"firing", "resolved"}) {
		t.Errorf("the receiver was told %v", got)
	}
}

// withoutWorkers does something while no worker is there, then starts them with env.
func (s *scene) withoutWorkers(ctx context.Context, do func(), env ...string) {
	s.t.Helper()
	start, err := s.stack.StopWorkers()
	started := false
	defer func() {
		if !started { // the test has failed
			_ = start()
		}
	}()
	s.must(err)
	do()
	started = true
	s.must(start(env...))
	s.until(ctx, "the worker is ready", func() bool {
		res, err := http.Get(s.stack.Info().Workers[0].AdminURL + "/readyz")
		if err == nil {
			_ = res.Body.Close()
		}
		return err == nil && res.StatusCode == http.StatusOK
	})
}

// wantRule wants the Prometheus rule of an alert to fire for the sale, when a Prometheus
// reads nothing but these metrics.
func (s *scene) wantRule(metrics, alert string) {
	s.t.Helper()
	const now = 1000 // of the rule test, whose time begins at zero
	var series strings.Builder
	for _, m := range regexp.MustCompile(`(?m)^(sluice_backlog_\w+)(\{.*\})? (\S+)$`).FindAllStringSubmatch(metrics, -1) {
		value := number(s.t, m[3])
		if m[1] == "sluice_backlog_oldest_timestamp_seconds" {
			value = now - time.Since(time.UnixMilli(int64(1000*value))).Seconds()
		}
		if math.IsInf(value, 0) { // a rule test cannot say it
			continue
		}
		fmt.Fprintf(&series, "      - {series: '%s%s', values: '%gx300'}\n", m[1], m[2], value)
	}
	rules, err := filepath.Abs("../deploy/prometheus/rules.yml")
	s.must(err)
	test := fmt.Sprintf(`rule_files: [%s]
evaluation_interval: 1s
tests:
  - interval: 5s
    input_series:
%s    promql_expr_test:
      - expr: count by (alertname, sale) (ALERTS{alertname="%s", alertstate="firing"})
        eval_time: %ds # it has stayed so for ten seconds
        exp_samples: [{labels: '{alertname="%s", sale="%s"}', value: 1}]
`, rules, &series, alert, now+10, alert, s.saleID)
	file := filepath.Join(s.t.TempDir(), "rule_test.yml")
	s.must(os.WriteFile(file, []byte(test), 0o600))
	if out, err := promtool(s.t, "test", "rules", file); err != nil {
		s.t.Errorf("the rule does not fire: %v\n%s\n%s", err, out, test)
	}
}
