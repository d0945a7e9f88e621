package service_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/shared/service"
)

// clock is a time that tests move.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newHealth() (*service.Health, *clock) {
	c := &clock{at: time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)}
	return service.NewHealth(c.now), c
}

func TestHealth_WarmOnceEveryPhaseWasDone(t *testing.T) {
	t.Parallel()
	health, _ := newHealth()
	if health.Warm() {
		t.Error("warm without phases")
	}
	redis, stream := health.Phase("redis"), health.Phase("stream")
	redis.Done()
	if health.Warm() || health.Status() != service.StatusWarming {
		t.Error("warm with a phase to go")
	}
	stream.Fail(errors.New("no stream"))
	stream.Done()
	if !health.Warm() || health.Status() != service.StatusReady {
		t.Error("not warm after every phase")
	}
}

func TestHealth_StaysWarmWhateverFailsLater(t *testing.T) {
	t.Parallel()
	health, _ := newHealth()
	redis := health.Phase("redis")
	redis.Done()
	if !health.Warm() {
		t.Fatal("not warm after every phase")
	}
	redis.Fail(errors.New("gone"))
	health.Phase("late").Fail(errors.New("never"))
	if !health.Warm() || health.Status() != service.StatusReady {
		t.Errorf("status %s after a late failure, want ready", health.Status())
	}
}

func TestHealth_DrainingIsForGood(t *testing.T) {
	t.Parallel()
	health, _ := newHealth()
	redis := health.Phase("redis")
	health.Drain()
	redis.Done()
	if health.Status() != service.StatusDraining {
		t.Errorf("status %s, want draining", health.Status())
	}
}

func TestPhases_ReportStateAgeAndLastErrorInOrder(t *testing.T) {
	t.Parallel()
	health, clock := newHealth()
	config, redis, stream := health.Phase("config"), health.Phase("redis"), health.Phase("stream")
	clock.at = clock.at.Add(time.Second)
	config.Done()
	redis.Fail(errors.New("first"))
	clock.at = clock.at.Add(1500 * time.Millisecond)
	redis.Fail(errors.New("second")) // the state's age goes on
	config.Done()
	want := []service.PhaseReport{
		{Name: "config", State: service.PhaseDone, AgeSeconds: 1.5},
		{Name: "redis", State: service.PhaseFailing, AgeSeconds: 1.5, LastError: "second"},
		{Name: "stream", State: service.PhasePending, AgeSeconds: 2.5},
	}
	if diff := cmp.Diff(want, health.Phases()); diff != "" {
		t.Errorf("phases differ (-want +got):\n%s", diff)
	}
	stream.Done()
	stream.Fail(errors.New("later"))
	if got := health.Phases()[2]; got.State != service.PhaseDone || got.LastError != "later" {
		t.Errorf("a done phase that fails later is reported as %+v", got)
	}
	redis.Done()
	if got := health.Phases()[1]; got.LastError != "" {
		t.Errorf("a phase that went well still reports %q", got.LastError)
	}
}
