package alerts

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/shared/sale"
)

var (
	errBusy = errors.New("another worker has it")
	errAway = errors.New("postgres is away")
)

// table stands for Postgres: rows, and who keeps them.
type table struct {
	rows   map[sale.AlertKey]sale.Alert
	keeper *tableKeeper
	away   bool
}

type tableKeeper struct{ *table }

func (t *table) Keep(context.Context) (Keeper, error) {
	if t.away {
		return nil, errAway
	}
	if t.keeper != nil {
		return nil, errBusy
	}
	t.keeper = &tableKeeper{t}
	return t.keeper, nil
}

func (t *table) Alerts(context.Context) (rows []sale.Alert, err error) {
	if t.away {
		return nil, errAway
	}
	for _, a := range t.rows {
		rows = append(rows, a)
	}
	return rows, nil
}

func (t *table) SaveAlerts(_ context.Context, c Changes) error {
	if t.away {
		return errAway
	}
	for _, a := range c.Kept {
		t.rows[a.AlertKey] = a
	}
	for _, key := range c.Gone {
		delete(t.rows, key)
	}
	return nil
}

func (k *tableKeeper) Close() {
	if k.keeper == k {
		k.keeper = nil
	}
}

// receiver keeps what it was sent.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	heard  []string // NAME STATE, for every alert of every payload
	broken bool
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var p payload
		if err := json.NewDecoder(req.Body).Decode(&p); err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.broken {
			http.Error(w, "no", http.StatusBadGateway)
			return
		}
		for _, a := range p.Alerts {
			r.heard = append(r.heard, a.Labels["alertname"]+a.Labels["dependency"]+" "+string(a.Status))
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) breaks(broken bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = broken
}

// holds makes the receiver answer nobody until answers is called.
func (r *receiver) holds() (answers func()) {
	r.mu.Lock()
	return r.mu.Unlock
}

func (r *receiver) wants(t *testing.T, want ...string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if strings.Join(r.heard, ", ") != strings.Join(want, ", ") {
		t.Errorf("the receiver heard %q, want %q", r.heard, want)
	}
}

// rig is workers that share a table, a receiver and a clock.
type rig struct {
	t     *testing.T
	table *table
	recv  *receiver
	now   time.Time
	log   strings.Builder
}

func newRig(t *testing.T) *rig {
	t.Parallel()
	return &rig{t: t, table: &table{rows: map[sale.AlertKey]sale.Alert{}}, recv: newReceiver(t), now: start}
}

// sight is what one worker sees.
type sight struct {
	up      map[string]bool
	letters int64
}

func (g *rig) worker(s *sight) *Alerts {
	cfg := testConfig
	cfg.Webhook = g.recv.URL
	sources := Sources{
		Up:    func() map[string]bool { return s.up },
		Facts: func(context.Context) (Facts, error) { return Facts{DeadLetters: s.letters}, nil },
	}
	return New(cfg, sources, g.table, errBusy, NewMetrics(prometheus.NewRegistry()), func() time.Time { return g.now },
		slog.New(slog.NewTextHandler(&g.log, nil)))
}

// pass lets every worker look once a second.
func (g *rig) pass(seconds int, workers ...*Alerts) {
	for range seconds {
		g.now = g.now.Add(time.Second)
		for _, a := range workers {
			a.round(g.t.Context())
			for a.tell.busy {
				a.acknowledge(<-a.tell.done)
				a.round(g.t.Context())
			}
		}
	}
}

// dies is what a kill does to a worker: Postgres ends its session.
func (g *rig) dies(a *Alerts) {
	if a.keeper != nil {
		g.table.keeper = nil
	}
}

func TestAlerts_AReceiverHearsOnceOfEachBeginningAndEnd(t *testing.T) {
	g := newRig(t)
	s := &sight{letters: 2}
	one, other := g.worker(s), g.worker(s)
	g.pass(20, one, other)
	g.recv.wants(t, "DeadLetters firing")
	s.letters = 0
	g.pass(20, one, other)
	g.recv.wants(t, "DeadLetters firing", "DeadLetters resolved")
	if n := strings.Count(g.log.String(), "alert fires"); n != 1 {
		t.Errorf("logged %d times: %s", n, g.log.String())
	}
	for i, a := range []*Alerts{one, other} {
		if list := a.List(); len(list) != 1 || list[0].State != sale.AlertResolved || list[0].Told != sale.AlertResolved {
			t.Errorf("worker %d lists %+v", i, list)
		}
	}
	g.pass(3700, one)
	if len(g.table.rows) != 0 {
		t.Errorf("an hour later there is %+v", g.table.rows)
	}
}

func TestAlerts_AnotherWorkerGoesOnWhereOneWasKilled(t *testing.T) {
	g := newRig(t)
	s := &sight{letters: 2}
	one := g.worker(s)
	g.pass(5, one)
	g.dies(one)
	other := g.worker(s)
	g.pass(20, other)
	g.recv.wants(t, "DeadLetters firing")
	s.letters = 0
	g.dies(other)
	third := g.worker(s)
	g.pass(20, third)
	g.recv.wants(t, "DeadLetters firing", "DeadLetters resolved")
}

func TestAlerts_AWorkerThatStopsWritesDownWhatIsAcknowledgedMeanwhile(t *testing.T) {
	g := newRig(t)
	s := &sight{letters: 2}
	one := g.worker(s)
	answers := g.recv.holds()
	g.now = g.now.Add(time.Second)
	one.round(t.Context()) // sends, and nobody answers yet
	if key := (sale.AlertKey{Name: sale.AlertDeadLetters}); g.table.rows[key].State != sale.AlertFiring || g.table.rows[key].Told != "" {
		t.Fatalf("before the answer there is %+v", g.table.rows)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	ended := make(chan struct{})
	go func() { defer close(ended); one.Run(stopped) }()
	answers()
	<-ended
	if g.table.keeper != nil {
		t.Error("it is still the keeper")
	}
	g.pass(5, g.worker(s))
	g.recv.wants(t, "DeadLetters firing")
}

func TestAlerts_AReceiverThatWasAwayHearsTheNewestState(t *testing.T) {
	g := newRig(t)
	s := &sight{letters: 2}
	one := g.worker(s)
	g.recv.breaks(true)
	g.pass(30, one)
	s.letters = 0
	g.pass(10, one)
	g.recv.breaks(false)
	g.pass(70, one) // more than the longest pause
	g.recv.wants(t, "DeadLetters resolved")
	g.pass(100, one)
	g.recv.wants(t, "DeadLetters resolved")
}

func TestAlerts_WithoutPostgresEveryWorkerTellsAloneAndNothingIsToldAgain(t *testing.T) {
	g := newRig(t)
	well, ill := map[string]bool{"postgres": true}, map[string]bool{"postgres": false}
	s := &sight{up: well, letters: 1}
	one, other := g.worker(s), g.worker(s)
	g.pass(10, one, other)
	g.recv.wants(t, "DeadLetters firing")
	s.up, g.table.away = ill, true
	g.dies(one)
	g.pass(30, one, other)
	g.recv.wants(t, "DeadLetters firing", "DependencyDownpostgres firing", "DependencyDownpostgres firing")
	s.up, g.table.away = well, false
	g.pass(30, other, one)
	g.recv.wants(t, "DeadLetters firing", "DependencyDownpostgres firing", "DependencyDownpostgres firing", "DependencyDownpostgres resolved")
	s.letters = 0
	g.pass(10, one, other)
	if last := g.recv.heard[len(g.recv.heard)-1]; last != "DeadLetters resolved" {
		t.Errorf("the last is %s", last)
	}
}

func TestAlerts_WhatOneWorkerFoundAloneIsEndedByAnother(t *testing.T) {
	g := newRig(t)
	one := g.worker(&sight{up: map[string]bool{"nats": true}})
	s := &sight{up: map[string]bool{"nats": true}}
	other := g.worker(s)
	g.pass(2, one, other)
	g.table.away = true
	g.dies(one)
	s.up = map[string]bool{"nats": false} // for the other one only
	g.pass(20, one, other)
	g.recv.wants(t, "DependencyDownnats firing")
	g.table.away = false
	g.pass(20, one, other)
	g.recv.wants(t, "DependencyDownnats firing", "DependencyDownnats resolved")
}

func TestAlerts_AShortAbsenceOfPostgresIsWaitedFor(t *testing.T) {
	g := newRig(t)
	one := g.worker(&sight{up: map[string]bool{}, letters: 1})
	g.pass(3, one)
	g.table.away = true
	g.dies(one)
	g.pass(2, one)
	if one.alone {
		t.Error("it went on alone at once")
	}
	if list := one.List(); len(list) != 1 || list[0].State != sale.AlertFiring {
		t.Errorf("it lists %+v", list)
	}
}

func TestPayload_IsWhatAlertmanagerSends(t *testing.T) {
	t.Parallel()
	alerts := []sale.Alert{
		{AlertKey: sale.AlertKey{Name: sale.AlertBacklogStalled, SaleID: "a"}, State: sale.AlertFiring, Value: 3, Summary: "three", FiredAt: start},
		{AlertKey: sale.AlertKey{Name: sale.AlertBacklogStalled, SaleID: "b"}, State: sale.AlertResolved, Value: 0.5, Summary: "none", FiredAt: start, ResolvedAt: start.Add(time.Minute), Told: sale.AlertFiring},
	}
	got, err := json.Marshal(payloadOf(sale.AlertBacklogStalled, alerts, testConfig))
	if err != nil {
		t.Fatal(err)
	}
	const runbook = `"runbook_url":"https://example.org/runbook#backlogstalled"`
	want := `{"version":"4","groupKey":"{}:{alertname=\"BacklogStalled\"}","truncatedAlerts":0,"status":"firing","receiver":"sluice",` +
		`"groupLabels":{"alertname":"BacklogStalled"},"commonLabels":{"alertname":"BacklogStalled","severity":"page"},"commonAnnotations":{` + runbook + `},"externalURL":"","alerts":[` +
		`{"status":"firing","labels":{"alertname":"BacklogStalled","sale":"a","severity":"page"},"annotations":{` + runbook + `,"summary":"three","value":"3"},` +
		`"startsAt":"2026-12-01T10:00:00Z","endsAt":"0001-01-01T00:00:00Z","generatorURL":"","fingerprint":"` + alerts[0].Fingerprint() + `"},` +
		`{"status":"resolved","labels":{"alertname":"BacklogStalled","sale":"b","severity":"page"},"annotations":{` + runbook + `,"summary":"none","value":"0.5"},` +
		`"startsAt":"2026-12-01T10:00:00Z","endsAt":"2026-12-01T10:01:00Z","generatorURL":"","fingerprint":"` + alerts[1].Fingerprint() + `"}]}`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
