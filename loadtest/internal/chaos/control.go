package chaos

import (
	"fmt"
	"slices"
	"strings"

	"sluice/loadtest/internal/report"
	"sluice/shared/sale"
)

// told are the findings that a control is named for, and what speaks against the round:
// everything else, and that a control has not shown what it must.
func (r Row) told(found []sale.Violation) (shown, violations []sale.Violation) {
	for _, v := range found {
		if slices.ContainsFunc(r.Shows, func(name string) bool { return report.IsFinding(v, name) }) {
			shown = append(shown, v)
		} else {
			violations = append(violations, v)
		}
	}
	if len(r.Shows) == 0 {
		return shown, violations
	}
	must := r.Shows[0]
	if !slices.ContainsFunc(shown, func(v sale.Violation) bool { return report.IsFinding(v, must) }) {
		violations = append(violations, sale.Violation{Invariant: "scenario", Detail: fmt.Sprintf("the control must show %q, and does not: nobody knows what the judge would see", must)})
	}
	return shown, violations
}

// kinds are the invariants, or other findings, that a control shows, each once.
func (r Row) kinds() string {
	var kinds []string
	for _, name := range r.Shows {
		if kind, _, _ := strings.Cut(name, " "); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return strings.Join(kinds, " ")
}
