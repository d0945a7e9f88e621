package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// PrintMatrix writes the rows of the matrix of faults as a table in Markdown: what was
// broken, how often it hit, how long recovery took at most, and how many rounds passed.
func (r Report) PrintMatrix(w io.Writer) error {
	var text strings.Builder
	accepted, unknown := int64(0), int64(0)
	for _, f := range r.Faults {
		accepted, unknown = accepted+f.Accepted, unknown+f.Unknown
	}
	rows := r.faultRows()
	fmt.Fprintf(&text, "%s of %s, %s, on %s/%s with %d CPUs: %d attempts were answered 202, %d were left without a certain answer.\n\n",
		many(int64(len(r.Faults)), "round", "rounds"), many(int64(len(rows)), "row", "rows"), seedsOf(r.Faults), r.Machine.OS, r.Machine.Arch, r.Machine.CPUs, accepted, unknown)
	text.WriteString("| row | fault | expected | hits, by seed | slowest recovery | promised | passed |\n|---|---|---|---|---|---|---|\n")
	for _, row := range rows {
		fmt.Fprintf(&text, "| %s |\n", strings.Join(faultCells(row), " | "))
	}
	if _, err := io.WriteString(w, text.String()); err != nil {
		return fmt.Errorf("cannot print the matrix: %w", err)
	}
	return nil
}

func seedsOf(faults []Fault) string {
	var seeds []string
	known := make(map[uint64]bool)
	for _, f := range faults {
		if !known[f.Seed] {
			known[f.Seed] = true
			seeds = append(seeds, fmt.Sprint(f.Seed))
		}
	}
	if len(seeds) == 1 {
		return "seed " + seeds[0]
	}
	return "seeds " + strings.Join(seeds, ", ")
}

func faultCells(rounds []Fault) []string {
	first, slowest := rounds[0], 0.0
	hits := make([]string, len(rounds))
	for i, f := range rounds {
		hits[i] = fmt.Sprint(f.Hits)
		slowest = max(slowest, f.RecoveryS)
	}
	cells := []string{first.Row + " " + first.Name, first.Fault, first.Expect, strings.Join(hits, ", "), inSeconds(slowest), inSeconds(first.BoundS), faultVerdict(rounds)}
	if slowest == 0 { // nothing was seen to go on
		cells[4] = "–"
	}
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(c, "|", `\|`)
	}
	return cells
}

// faultVerdict is how many rounds passed, how many of them went on later than promised, and
// what a control has shown; nothing of a row that the machine cannot run.
func faultVerdict(rounds []Fault) string {
	if !slices.ContainsFunc(rounds, func(f Fault) bool { return f.NotRun == "" }) {
		return "not run"
	}
	passed, late, undone := 0, 0, 0
	for _, f := range rounds {
		if f.Interrupted {
			undone++
		}
		if f.Pass {
			passed++
			if !f.InTime {
				late++
			}
		}
	}
	text := fmt.Sprintf("%d of %d", passed, len(rounds))
	if late > 0 {
		text += fmt.Sprintf(", %d late", late)
	}
	if undone > 0 {
		text += fmt.Sprintf(", %d not judged", undone)
	}
	if control := rounds[0].Shows; control != "" {
		text += "; a control, which must show " + control
	}
	return text
}
