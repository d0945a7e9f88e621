package pace

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"sluice/loadtest/internal/report"
)

// Print writes what was promised and found, all figures, the machine, and what to know
// about them.
func Print(w io.Writer, rep report.Report) error {
	if err := rep.PrintPromises(w); err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight) // the Flush below reports a failure
	fmt.Fprint(t, "figure\tmedian\tmin\tmax\t\n")
	for _, name := range slices.Sorted(maps.Keys(rep.Ratios)) {
		s := rep.Ratios[name]
		fmt.Fprintf(t, "%s\t%.3f\t%.3f\t%.3f\t\n", name, s.Median, s.Min, s.Max)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("cannot print report: %w", err)
	}
	m := rep.Machine
	text := fmt.Appendf(nil, "\nmachine: %s/%s, %d CPUs, %s\n", m.OS, m.Arch, m.CPUs, m.Go)
	for _, note := range notes {
		text = fmt.Appendf(text, "- %s\n", note)
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("cannot print report: %w", err)
	}
	return rep.PrintVerdict(w)
}
