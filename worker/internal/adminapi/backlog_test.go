package adminapi

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"sluice/shared/backlog"
	"sluice/worker/internal/pacing"
)

type fakeBacklogs []backlog.Sale

func (f fakeBacklogs) All() []backlog.Sale { return f }

type fakePacer pacing.State

func (f fakePacer) State() pacing.State { return pacing.State(f) }

// showBacklog returns the answer with the ages, which depend on the clock, taken out.
func showBacklog(t *testing.T, s Stores) (body string, ages []string) {
	t.Helper()
	token := strings.Repeat("t", 32)
	api := New(token, slog.New(slog.DiscardHandler))
	api.Open(s)
	request := httptest.NewRequest(http.MethodGet, "/admin/v1/backlog", nil)
	request.Header.Set("Authorization", "Bearer "+token)
	answer := httptest.NewRecorder()
	api.ServeHTTP(answer, request)
	if answer.Code != http.StatusOK {
		t.Fatalf("%d %s", answer.Code, answer.Body)
	}
	age := regexp.MustCompile(`"age_seconds":[0-9.e+]+`)
	return age.ReplaceAllString(strings.TrimSpace(answer.Body.String()), `"age_seconds":A`), age.FindAllString(answer.Body.String(), -1)
}

func TestBacklog_SaysWhatWaitsOfEverySaleAndWhetherThePromiseIsKept(t *testing.T) {
	t.Parallel()
	read := time.Date(2026, 12, 1, 18, 0, 0, 0, time.FixedZone("", 8*3600))
	body, ages := showBacklog(t, Stores{Promise: 30 * time.Second, Pacer: fakePacer{LimitedBy: pacing.LimitDemand}, Backlog: fakeBacklogs{
		{SaleID: "idle", Title: "A", Measured: true, ReadAt: read},
		{SaleID: "new", Title: "B", Waiting: 4, ReadAt: read},
		{SaleID: "slow", Title: "C", Waiting: 9, Oldest: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), DrainRate: 2, Measured: true, ReadAt: read},
		{SaleID: "stuck", Title: "D", Waiting: 1, Oldest: time.Now(), Measured: true, ReadAt: read},
	}})
	body = regexp.MustCompile(`"oldest":"[^"]+","age_seconds":A,"within_promise":true`).ReplaceAllString(body, `"oldest":"now","age_seconds":A,"within_promise":true`)
	want := `{"promise_seconds":30,"sales":[` +
		`{"sale":"idle","title":"A","waiting":0,"oldest":null,"age_seconds":A,"within_promise":true,"drain_rate":0,"drain_seconds":0,"stale":false,"read_at":"2026-12-01T10:00:00Z"},` +
		`{"sale":"new","title":"B","waiting":4,"oldest":null,"age_seconds":null,"within_promise":null,"drain_rate":null,"drain_seconds":null,"stale":false,"read_at":"2026-12-01T10:00:00Z"},` +
		`{"sale":"slow","title":"C","waiting":9,"oldest":"2020-01-01T00:00:00Z","age_seconds":A,"within_promise":false,"drain_rate":2,"drain_seconds":4.5,"stale":false,"read_at":"2026-12-01T10:00:00Z"},` +
		`{"sale":"stuck","title":"D","waiting":1,"oldest":"now","age_seconds":A,"within_promise":true,"drain_rate":0,"drain_seconds":null,"stale":false,"read_at":"2026-12-01T10:00:00Z"}],` +
		`"pace":{"paused":false,"orders_per_second":0,"p90_ms":0,"target_ms":0,"limited_by":"demand","consumers":0,"consumers_max":0,"in_flight":0,"workers_wanted":0}}`
	if body != want {
		t.Errorf("got  %s\nwant %s", body, want)
	}
	if ages[0] != `"age_seconds":0` {
		t.Errorf("age where nothing waits: %v", ages[0])
	}
}

// What is of a moment ago may be wrong by now in one way alone: more waits.
func TestBacklog_SaysNothingIsWellOfASaleThatCannotBeRead(t *testing.T) {
	t.Parallel()
	now := time.Now()
	body, _ := showBacklog(t, Stores{Promise: 30 * time.Second, Pacer: fakePacer{}, Backlog: fakeBacklogs{
		{SaleID: "idle", Stale: true},
		{SaleID: "late", Waiting: 1, Oldest: now.Add(-time.Minute), Stale: true},
		{SaleID: "soon", Waiting: 1, Oldest: now, Stale: true},
	}})
	for _, want := range []string{
		`{"sale":"idle","title":"","waiting":0,"oldest":null,"age_seconds":null,"within_promise":null,"drain_rate":null,"drain_seconds":null,"stale":true,`,
		`"age_seconds":A,"within_promise":false,"drain_rate":null,"drain_seconds":null,"stale":true,`,
		`"age_seconds":A,"within_promise":null,"drain_rate":null,"drain_seconds":null,"stale":true,`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%s lacks %s", body, want)
		}
	}
}

func TestBacklog_SaysThePaceOfTheWorkerThatAnswers(t *testing.T) {
	t.Parallel()
	body, _ := showBacklog(t, Stores{Promise: time.Minute, Backlog: fakeBacklogs{}, Pacer: fakePacer{
		Pace: 1200.5, P90: 12500 * time.Microsecond, Target: 50 * time.Millisecond, LimitedBy: "demand",
		Consumers: 2, ConsumersMax: 8, InFlight: 1, WorkersWanted: 3,
	}})
	want := `{"promise_seconds":60,"sales":[],"pace":{"paused":false,"orders_per_second":1201,"p90_ms":12.5,"target_ms":50,` +
		`"limited_by":"demand","consumers":2,"consumers_max":8,"in_flight":1,"workers_wanted":3}}`
	if body != want {
		t.Errorf("got  %s\nwant %s", body, want)
	}
}
