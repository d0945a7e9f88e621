package mutants

import "slices"

// All are all mutations there are.
func All() []Mutation {
	return []Mutation{
		ridCheckOff(),
		epochCheckOff(),
		flagVersionOff(),
		releasesKeyOff(),
		releasedCheckOff(),
		stockConditionOff(),
		slotIndexOff(),
		ackBeforeCommit(),
		sweeperOff(),
		discardOld(),
		runIDCheckOff(),
	}
}

// after makes another mutation's edits first: those that bring about what this one's
// protection is there for.
func (m Mutation) after(other Mutation) Mutation {
	m.edits = slices.Concat(other.edits, m.edits)
	return m
}
