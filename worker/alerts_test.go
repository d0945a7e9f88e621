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
	"sluice/shared/sale"
)

// told is a receiver of alerts that keeps the states of one alert, and its fingerprints.
type told struct {
	*httptest.Server
	mu     sync.Mutex
	states []string
	prints []string
}

// newTold keeps those of one store, if the alert is of stores.
func newTold(t *testing.T, alert, store string) *told {
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
			if a.Labels["alertname"] == alert && a.Labels["dependency"] == store {
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
	r := newTold(t, "DependencyDown", "postgres")
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

// A rebuild waits for orders, and those for an operator.
func TestAlerts_ASaleWhoseRebuildCannotEndIsToldOnceUntilItIsLiveAgain(t *testing.T) {
	t.Parallel()
	w := newLosableWorld(t, 10)
	r := newTold(t, "SaleNotLive", "")
	flags := []string{"-alert-webhook", r.URL, "-alert-not-live-for", "1s"}
	one, ops := w.startWithAdmin("", flags...)
	two, other := w.startWithAdmin("", flags...)
	lives := `sluice_sale_not_live{sale="` + w.entry.ID + `"}`
	for _, worker := range []string{ops, other} {
		w.eventually("the sale is read", func() bool { return w.backlogOf(worker).Within && w.metric(worker, lives) == 0 })
		w.operate(worker, "POST", "/admin/v1/pace/pause", "", "Sluice-Operator: ada")
		w.eventually("the pace is paused", func() bool {
			return strings.Contains(w.operate(worker, "GET", "/admin/v1/pace", "").body, `"applied":true`)
		})
	}
	held := w.reserve(1)
	w.handOver(held)
	w.flushRedis()
	w.eventually("somebody is told", func() bool { return r.count("firing") > 0 })
	for _, worker := range []string{ops, other} {
		w.eventually("each worker lists it, and why", func() bool {
			body := w.operate(worker, "GET", "/admin/v1/alerts", "").body
			return strings.Contains(body, `"alert":"SaleNotLive","state":"firing","severity":"page","sale":"`+w.entry.ID+`"`) &&
				strings.Contains(body, "which waits for orders: the pace is paused since ")
		})
		if b := w.backlogOf(worker); b.Within || !b.Stale {
			t.Errorf("%+v is told of a sale that cannot be read", b)
		}
		if n := w.metric(worker, lives); n != 1 {
			t.Errorf("%s is %v", lives, n)
		}
	}
	shown := w.operate(ops, "GET", "/admin/v1/sales/"+w.entry.ID, "")
	w.wantAnswer(shown, 200, `"rebuilding":true,"rebuild_waits_for":"the pace is paused since `)
	w.wantAnswer(shown, 200, ` by ada"`)
	w.wantAnswer(w.operate(ops, "GET", "/admin/v1/sales", ""), 200, ` by ada"`)
	w.operate(ops, "POST", "/admin/v1/pace/resume", "")
	w.live()
	w.eventuallyAll(sale.StatusConfirmed, held)
	w.eventually("the end is told", func() bool { return r.count("resolved") > 0 })
	w.wantAnswer(w.operate(ops, "GET", "/admin/v1/sales/"+w.entry.ID, ""), 200, `"rebuild_waits_for":null`)
	w.eventually("the backlog is read again", func() bool { b := w.backlogOf(ops); return b.Within && !b.Stale })
	w.stopped(one)
	w.stopped(two)
	if r.count("firing") != 1 || r.count("resolved") != 1 {
		t.Errorf("told %v", r.states)
	}
}
