package main

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"sluice/shared/devstack"
	"sluice/shared/sale"
)

var servesLine = regexp.MustCompile(`"msg":"worker serves".*"address":"([^"]+)","ops":"([^"]+)"`)

// urlsOf waits for a worker's addresses, for buyers and for operators.
func (w *world) urlsOf(p *process) (buyers, ops string) {
	w.t.Helper()
	var found []string
	w.eventually("the worker serves", func() bool {
		found = servesLine.FindStringSubmatch(p.log.String())
		return found != nil
	})
	return "http://" + found[1], "http://" + found[2]
}

// get returns 0 when nobody answers.
func get(url string) (code int, body string) {
	client := http.Client{Timeout: 5 * time.Second}
	response, err := client.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(text)
}

func TestWorker_IsReadyOnceWarmAndCountsWhatItDoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 10)
	p := w.startWorker("")
	buyers, ops := w.urlsOf(p)
	w.eventually("it is ready", func() bool { code, _ := get(ops + "/readyz"); return code == http.StatusOK })
	_, phases := get(ops + "/readyz?verbose")
	for _, phase := range []string{"config", "postgres", "redis", "stream", "catalogue"} {
		if !strings.Contains(phases, `"`+phase+`"`) {
			t.Errorf("phase %s is not in %s", phase, phases)
		}
	}
	if code, _ := get(ops + "/debug/pprof/"); code == http.StatusOK {
		t.Error("profiles are open though there is no admin token")
	}
	reserved := w.reserve(3)
	w.handOver(reserved)
	w.eventuallyAll(sale.StatusConfirmed, reserved)
	w.eventuallyAcknowledged()
	_, metrics := get(ops + "/metrics")
	for _, line := range []string{
		`sluice_orders_total{fate="ordered"} 3`, `sluice_orders_total{fate="surplus"} 0`, "sluice_settled_total 3",
		"sluice_swept_total 0", "sluice_releases_applied_total 0", "sluice_redelivered_total 0", "sluice_lost_total 0",
		`sluice_dead_letters_total{kind="invalid"} 0`, `sluice_dead_letters_total{kind="unreadable"} 0`,
		"sluice_order_batch_size_count 1", "sluice_order_commit_seconds_count 1",
	} {
		if !strings.Contains(metrics, "\n"+line+"\n") {
			t.Errorf("metric %s is missing", line)
		}
	}
	if got := w.ask(buyers, http.MethodGet, "/v1/orders", ""); got.status != http.StatusUnauthorized {
		t.Errorf("orders without a token: %d", got.status)
	}
	w.stopped(p)
}

// Who waits for one store while it starts does not say that the others are away too.
func TestWorker_ThatWaitsForOneStoreSaysThatTheOthersAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 10)
	port, err := devstack.ReservePort()
	w.must(err)
	defer func() { w.must(port.Release()) }()
	p := w.startWorker("", "-ops-listen", port.Addr(), "-redis-url", "redis://127.0.0.1:1/0")
	var metrics string
	w.eventually("postgres is up", func() bool {
		_, metrics = get("http://" + port.Addr() + "/metrics")
		return strings.Contains(metrics, "\n"+`sluice_dependency_up{dependency="postgres"} 1`+"\n")
	})
	if !strings.Contains(metrics, "\n"+`sluice_dependency_up{dependency="redis"} 0`+"\n") {
		t.Errorf("redis is up:\n%s", metrics)
	}
	w.stopped(p)
}

func TestWorker_ShowsABuyerTheirOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 10)
	p := w.startWorker("")
	buyers, _ := w.urlsOf(p)
	reserved := w.reserve(2)
	w.handOver(reserved)
	w.eventuallyAll(sale.StatusConfirmed, reserved)
	got := w.ask(buyers, http.MethodGet, "/v1/orders", reserved[0].UserID)
	if got.status != http.StatusOK || !strings.Contains(got.body, reserved[0].RID) || strings.Contains(got.body, reserved[1].RID) {
		t.Errorf("%d %s", got.status, got.body)
	}
	w.stopped(p)
}
