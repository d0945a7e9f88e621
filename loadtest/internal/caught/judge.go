package caught

import (
	"slices"

	"sluice/loadtest/internal/mutants"
	"sluice/loadtest/internal/report"
	"sluice/shared/sale"
)

// judge says whether a row that ran with a protection gone has found what it must, and did
// not find with the same seed while it was there.
func judge(m mutants.Mutation, whole []report.Fault, f report.Fault) report.Mutant {
	result := report.Mutant{
		Mutation: m.Name, Protection: m.Protection, Takes: m.Takes, Seen: m.Seen, Row: m.Row, Seed: f.Seed, Expected: m.Finds, Found: found(f),
	}
	before := whole[slices.IndexFunc(whole, func(w report.Fault) bool { return w.Row == f.Row && w.Seed == f.Seed })]
	for _, wanted := range m.Finds {
		result.Caught = result.Caught || finds(f, wanted) && !finds(before, wanted)
	}
	return result
}

// found is all that a round has found: what a control must show too.
func found(f report.Fault) []sale.Violation { return slices.Concat(f.Shown, f.Violations) }

// finds reports whether a round has found the invariant, with a detail that says what
// stands behind it.
func finds(f report.Fault, wanted string) bool {
	return slices.ContainsFunc(found(f), func(v sale.Violation) bool { return report.IsFinding(v, wanted) })
}
