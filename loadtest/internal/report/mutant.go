package report

import (
	"fmt"
	"strings"

	"sluice/shared/sale"
)

// Mutant is what a row of the matrix of faults found while one protection was gone.
type Mutant struct {
	Mutation   string           `json:"mutation"`
	Protection string           `json:"protection"` // that was gone
	Takes      string           `json:"takes"`      // what did not happen any more, in words
	Seen       string           `json:"seen"`       // what is to be seen, in words
	Row        string           `json:"row"`        // its number in the matrix
	Seed       uint64           `json:"seed"`
	Expected   []string         `json:"expected"` // invariants of which one at least must be found broken
	Found      []sale.Violation `json:"found"`
	Caught     bool             `json:"caught"`
	TookS      float64          `json:"took_s"` // building it included
}

// Line says in one line what came of it.
func (m Mutant) Line() string {
	line := fmt.Sprintf("%-20s row %-3s seed %-4d %s in %.0f s", m.Mutation, m.Row, m.Seed, m.word(), m.TookS)
	for _, v := range m.told() {
		line += "\n            " + v
	}
	return line
}

func (m Mutant) word() string {
	if m.Caught {
		return "caught"
	}
	return "NOT CAUGHT"
}

// told is the first finding of each kind, with how many there are of it.
func (m Mutant) told() (all []string) {
	first, times := make(map[string]string), make(map[string]int)
	var kinds []string
	for _, v := range m.Found {
		if times[v.Invariant]++; times[v.Invariant] == 1 {
			first[v.Invariant] = v.Detail
			kinds = append(kinds, v.Invariant)
		}
	}
	for _, kind := range kinds {
		all = append(all, fmt.Sprintf("%s (%d): %s", kind, times[kind], first[kind]))
	}
	return all
}

var mutantHead = []string{"protection", "what is taken away", "row", "seed", "expected", "found", "verdict"}

// Cells are the row of a table for people.
func (m Mutant) Cells() []string {
	return []string{m.Protection + " (" + m.Mutation + ")", m.Takes + ". Seen: " + m.Seen, m.Row, fmt.Sprint(m.Seed),
		strings.Join(m.Expected, " or "), strings.Join(m.told(), "; "), m.word()}
}
