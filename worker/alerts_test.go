package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"sluice/shared/devstack"
)

// told is a receiver of alerts that keeps the states of one alert, and its fingerprints.
type told struct {
	*httptest.Server
	mu     sync.Mutex
	states []string
	prints []string
}

func newTold(t *testing.T, alert string) *told {
	r := &told{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		var body struct {
			Alerts []struct {
				Status, Fingerprint string
				Labels              map[string]string
			}
		}
		if err := json.NewDecoder(req.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, a := range body.Alerts {
			if a.Labels["alertname"] == alert {
				r.states, r.prints = append(r.states, a.Status), append(r.prints, a.Fingerprint)
			}
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *told) count(state string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.states {
		if s == state {
			n++
		}
	}
	return n
}

func TestAlerts_WithoutPostgresEachWorkerTellsAndWithItOneTellsTheEnd(t *testing.T) {
	t.Parallel()
	postgres := ownServer(t, devstack.StartPostgres)
	w := newWorldOn(t, 10, serverURLs{redis: devstack.RedisForTest(t).URL(), postgres: postgres.URL()})
	r := newTold(t, "DependencyDown")
	flags := []string{"-alert-webhook", r.URL, "-alert-dependency-for", "1s"}
	one, ops := w.startWithAdmin("", flags...)
	two, _ := w.startWithAdmin("", flags...)
	w.eventually("postgres answers", func() bool { return w.metric(ops, `sluice_dependency_up{dependency="postgres"}`) == 1 })
	w.must(postgres.Kill())
	w.eventually("both workers tell", func() bool { return r.count("firing") == 2 })
	w.wantAnswer(w.operate(ops, "GET", "/admin/v1/alerts", ""), 200, `"alert":"DependencyDown","state":"firing","severity":"page","dependency":"postgres"`)
	w.must(postgres.Restart(w.context()))
	w.eventually("one of them tells the end", func() bool { return r.count("resolved") > 0 })
	w.eventually("everybody knows", func() bool {
		return strings.Contains(w.operate(ops, "GET", "/admin/v1/alerts", "").body, `"alert":"DependencyDown","state":"resolved"`)
	})
	w.stopped(one)
	w.stopped(two)
	if n := len(slices.Compact(r.prints)); n != 1 || r.count("firing") != 2 {
		t.Errorf("told %v of %v", r.states, r.prints)
	}
}
