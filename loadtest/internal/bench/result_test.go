package bench

import (
	"strings"
	"testing"

	"sluice/loadtest/internal/report"
)

func TestAdd_TakesOverWhatIsPromisedAndViolationsAndSaysWhereToLook(t *testing.T) {
	t.Parallel()
	res := NewResult(Config{})
	more := report.Report{
		Orders: report.Orders{Total: 3, Pending: 3}, Config: map[string]any{"rounds": 3}, Words: []string{"more"}, NotMeasured: []string{"replicas"},
		Ratios:   map[string]report.Spread{"layer4_per_unit": report.SpreadOf([]float64{3, 4}), "its_own": report.SpreadOf([]float64{1})},
		Promises: []report.Promise{report.Promise{Name: "layer4_per_unit", Bound: 3}.Judge(3.5), {Name: "not_measured"}},
	}
	more.Verdict.Pass = true
	res.Add(PartSale, more)
	if rep := res.Report; !rep.Verdict.Pass || rep.Orders.Total != 3 || len(rep.Ratios) != 1 || len(rep.Promises) != 1 || rep.Promises[0].Held {
		t.Errorf("%+v", rep)
	}
	if said := res.Report.Words; len(said) != 2 || !strings.Contains(strings.Join(said, "\n"), whereToLook[PartSale]) {
		t.Errorf("words %q", said)
	}
	more.Fail("I3", "one is missing")
	res.Add(PartGrowth, more)
	if rep := res.Report; rep.Verdict.Pass || len(rep.Verdict.Violations) != 1 || rep.Orders.Total != 6 || len(rep.NotMeasured) != 1 {
		t.Errorf("%+v", rep)
	}
}
