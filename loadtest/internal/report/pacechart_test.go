package report

import (
	"strings"
	"testing"
)

// paced has a run of two workers of which the first half tells no pace.
func paced() Pace {
	return Pace{
		Name: "shares, round 1", Text: "A second worker.", Marks: []Mark{{T: 0.5, Text: "12 commits/s"}, {T: 0.6, Text: "second worker"}, {T: 9, Text: "too late"}},
		Samples: []PaceSample{
			{T: 0.5, OrdersPerS: 900, Shares: []float64{900}, CommitP90: 40},
			{T: 1, OrdersPerS: 1000, Shares: []float64{1000}, CommitP90: 42},
			{T: 1.5, OrdersPerS: 1000, Shares: []float64{600, 400}, Told: true, PacePerS: 1_000_000, P90: 48, Target: 50, LimitedBy: "pace"},
			{T: 2, OrdersPerS: 1100, Shares: []float64{600, 500}, Told: true, PacePerS: 1200, P90: 90, Target: 50, LimitedBy: "latency"},
		},
	}
}

func TestPage_ShowsPacesOverTimeWithWhatWasDone(t *testing.T) {
	t.Parallel()
	r := full()
	r.Paces = []Pace{paced(), {Name: "nothing was sampled"}}
	got := pageOf(t, r)
	for _, want := range []string{
		"Pace: shares, round 1", "Commits: shares, round 1", "12 commits/s", "second worker", "limited by pace", "limited by latency", "worker 2", "its target",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(got, "nothing was sampled") {
		t.Error("there is a chart of nothing")
	}
}

func TestPromise_IsHeldToleratedOrMissed(t *testing.T) {
	t.Parallel()
	least, most := Promise{AtLeast: true, Bound: 0.9, Text: "enough"}, Promise{Bound: 1.5, Text: "soon"}
	for word, promises := range map[string][]Promise{
		"held": {least.Judge(0.9), least.Judge(2), most.Judge(0), most.Judge(1.5)},
		"not held, by less than a factor of three": {least.Judge(0.31), most.Judge(4.5)},
		"not held": {least.Judge(0.2), most.Judge(4.6), least, most},
	} {
		for _, p := range promises {
			if p.Word() != word {
				t.Errorf("%+v: %s, want %s", p, p.Word(), word)
			}
		}
	}
	var out strings.Builder
	if err := (Report{Promises: []Promise{least.Judge(0.31), most}}).PrintPromises(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"enough", "0.31, at least 0.9", "soon", "absent"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q lacks %q", out.String(), want)
		}
	}
}
