package capacity

import (
	"math"
	"testing"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-3*math.Max(1e-9, math.Abs(want)) {
		t.Errorf("%s is %.6g, want %.6g", what, got, want)
	}
}

func TestBusyAndServers_AreTheUtilisationLaw(t *testing.T) {
	t.Parallel()
	near(t, "busy", Busy(2000, 0.003), 6)
	for _, c := range []struct {
		busy, utilisation float64
		want              int
	}{{6, 0.6, 10}, {6.01, 0.6, 11}, {0, 0.6, 1}, {0.3, 0.6, 1}, {3, 1, 3}} {
		if got := Servers(c.busy, c.utilisation); got != c.want {
			t.Errorf("%v busy at %v takes %d servers, want %d", c.busy, c.utilisation, got, c.want)
		}
	}
}

// Values of the tables of Erlang's C, and what one server's queue has in closed form.
func TestWaits_AreThoseOfTheTables(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		busy    float64
		servers int
		want    float64
	}{{8, 10, 0.4092}, {1, 2, 0.3333}, {0.5, 1, 0.5}, {2, 3, 0.4444}, {5, 5, 1}} {
		near(t, "Erlang's C", math.Round(waits(c.busy, c.servers)*1e4)/1e4, c.want)
	}
	near(t, "M/M/1", WaitMMc(0.5, 1, 1), 1)
	near(t, "M/M/2", WaitMMc(1, 1, 2), 1.0/3)
	near(t, "M/G/1 exponential", WaitMG1(0.5, 1, 1), 1)
	near(t, "M/D/1", WaitMG1(0.5, 1, 0), 0.5)
	if !math.IsInf(WaitMMc(2, 1, 2), 1) || !math.IsInf(WaitMG1(1, 1, 0), 1) {
		t.Error("a queue that comes faster than it is served has an end")
	}
	if w := waits(900, 1000); w < 0 || w > 1 || math.IsNaN(w) {
		t.Errorf("of many servers all are busy with probability %v", w)
	}
}
