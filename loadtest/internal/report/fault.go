package report

import (
	"fmt"
	"strings"

	"sluice/shared/sale"
)

// Fault is what one round of a row of the matrix of faults came to.
type Fault struct {
	Row        string           `json:"row"`              // its number in the matrix; a control beside a row of the same number has a letter behind it
	Name       string           `json:"name"`             // lower-case-with-dashes, as -only takes it
	Fault      string           `json:"fault"`            // what is broken, in words
	Expect     string           `json:"expect"`           // what becomes of it, in words
	Seed       uint64           `json:"seed"`             // the same one breaks at the same places
	InjectedS  float64          `json:"injected_at_s"`    // seconds since the round began; 0 if it did not come to it
	Hits       int              `json:"hits"`             // how often the fault met what it was meant for; a round with none fails
	HitBy      []string         `json:"hit_by"`           // how that was seen
	Accepted   int64            `json:"accepted"`         // attempts of the round's crowd answered 202
	Unknown    int64            `json:"unknown"`          // of its attempts, those without a certain answer
	Pauses     []Pause          `json:"pauses,omitempty"` // how long the sale stood still, by what was killed
	RecoveryS  float64          `json:"recovery_s"`       // seconds from the heal until the sale went on by itself; 0 if it was not seen to
	BoundS     float64          `json:"bound_s"`          // seconds that are promised for that
	TookS      float64          `json:"took_s"`           // seconds of the whole round, its judgement among them
	Invariants []string         `json:"invariants"`       // that the round was held against; empty if it could not be judged
	Shows      string           `json:"shows,omitempty"`  // of a control: the invariant, or other finding, that it must show, and then those that may come with it
	Shown      []sale.Violation `json:"shown,omitempty"`  // of those, as found
	Violations []sale.Violation `json:"violations"`       // everything else that was found: of an invariant, or "scenario" where the round was not as it has to be
	InTime     bool             `json:"in_time"`          // it went on in its bound; threefold is tolerated, for a machine that has other things to do
	Pass       bool             `json:"pass"`             // there are no violations

	NotRun      string `json:"not_run,omitempty"`     // why it was not run; what else is here says nothing then
	Interrupted bool   `json:"interrupted,omitempty"` // the run was told to end before it was judged: it is no pass, and says nothing against what was tried
	Again       string `json:"again,omitempty"`       // of a round that failed: the command that runs it again, beside its logs
	Logs        string `json:"logs,omitempty"`        // of a round that failed: their directory
}

// Line says in one line what the round came to.
func (f Fault) Line() string {
	if f.NotRun != "" {
		return fmt.Sprintf("row %-3s %-34s seed %-4d %s: %s", f.Row, f.Name, f.Seed, f.word(), f.NotRun)
	}
	if f.Interrupted {
		return fmt.Sprintf("row %-3s %-34s seed %-4d %s: interrupted", f.Row, f.Name, f.Seed, f.word())
	}
	line := fmt.Sprintf("row %-3s %-34s seed %-4d %s; hits %d, %s (%.0f s promised), %d accepted, %d left without a certain answer",
		f.Row, f.Name, f.Seed, f.word(), f.Hits, f.recovery(), f.BoundS, f.Accepted, f.Unknown)
	for _, v := range f.Violations {
		line += "\n            " + v.Invariant + ": " + v.Detail
	}
	if len(f.Shown) > 0 {
		line += "\n            " + f.shown()
	}
	if f.Logs != "" {
		line += "\n            logs: " + f.Logs
	}
	if f.Again != "" {
		line += "\n            again: " + f.Again
	}
	return line
}

// recovered reports whether the sale was seen to go on by itself.
func (f Fault) recovered() bool { return f.RecoveryS > 0 }

func (f Fault) recovery() string {
	if !f.recovered() {
		return "not recovered"
	}
	return fmt.Sprintf("recovered in %.1f s", f.RecoveryS)
}

// shown says what a control has shown: each kind with the first of it.
func (f Fault) shown() string {
	var kinds []string
	seen := make(map[string]bool)
	for _, v := range f.Shown {
		if !seen[v.Invariant] {
			seen[v.Invariant] = true
			kinds = append(kinds, v.Invariant+": "+v.Detail)
		}
	}
	return fmt.Sprintf("shows, as it must (%d findings): %s", len(f.Shown), strings.Join(kinds, "; "))
}

func (f Fault) word() string {
	switch {
	case f.NotRun != "":
		return "NOT RUN"
	case f.Interrupted:
		return "NOT JUDGED"
	case !f.Pass:
		return "FAIL"
	case !f.InTime:
		return "pass, late"
	default:
		return "pass"
	}
}
