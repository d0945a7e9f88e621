package caught

import (
	"strings"
	"testing"

	"sluice/loadtest/internal/chaos"
	"sluice/loadtest/internal/mutants"
	"sluice/loadtest/internal/report"
	"sluice/shared/sale"
)

func TestJudge_OnlyWhatIsExpectedAndNewCatches(t *testing.T) {
	t.Parallel()
	m := mutants.Mutation{Name: "m", Row: "7", Finds: []string{"I3", "I9", "I2 hold slot"}}
	whole := []report.Fault{{Row: "7", Seed: 1}, {Row: "7", Seed: 2, Shown: []sale.Violation{{Invariant: "I3"}}}}
	for _, c := range []struct {
		name  string
		seed  uint64
		found []string
		want  bool
	}{
		{"what it must break is broken", 1, []string{"I3"}, true},
		{"nothing is found", 1, nil, false},
		{"the round has shown nothing", 1, []string{"scenario"}, false},
		{"something else is broken", 1, []string{"I1"}, false},
		{"it is broken anyway", 2, []string{"I3"}, false},
		{"one is broken anyway, another is not", 2, []string{"I3", "I9"}, true},
		{"it is broken in another way", 1, []string{"I2 holds two"}, false},
		{"it is broken in the way that is expected", 1, []string{"I2 orders a and b hold slot 1"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := report.Fault{Row: "7", Seed: c.seed}
			for _, text := range c.found {
				invariant, detail, _ := strings.Cut(text, " ")
				f.Violations = append(f.Violations, sale.Violation{Invariant: invariant, Detail: detail})
			}
			if got := judge(m, whole, f); got.Caught != c.want || len(got.Found) != len(c.found) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestAll_EachMutationNamesARowThatThereIs(t *testing.T) {
	t.Parallel()
	rows, err := rowsOf(mutants.All())
	if err != nil {
		t.Error(err)
	}
	seen := make(map[string]bool)
	for _, row := range rows {
		if seen[row.ID] || row.Stack.Mutation != "" && len(row.Shows) == 0 {
			t.Errorf("row %s is there twice, or has no protection and shows nothing", row.ID)
		}
		seen[row.ID] = true
	}
	if len(chaos.Rows()) < len(rows) {
		t.Errorf("%d rows of %d", len(rows), len(chaos.Rows()))
	}
}
