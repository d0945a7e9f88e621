package bench

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"sluice/loadtest/internal/report"
)

// Print writes tables, the machine, and what to know about the figures.
func (r Result) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight) // the Flush below reports a failure
	printMeasurements(t, r.figures)
	printSpread(t, "other figures", withoutMeasurements(r.figures))
	printSpread(t, "ratio", r.Report.Ratios)
	printCurves(t, r.Report.Curves)
	if err := t.Flush(); err != nil {
		return fmt.Errorf("cannot print report: %w", err)
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return fmt.Errorf("cannot print report: %w", err)
	}
	if err := r.Report.PrintPromises(w); err != nil {
		return err
	}
	m := r.Report.Machine
	text := words(r.Report.Words)
	for _, left := range r.Report.NotMeasured {
		text = fmt.Appendf(text, "not measured: %s\n", left)
	}
	text = fmt.Appendf(text, "machine: %s/%s, %d CPUs, %s\n", m.OS, m.Arch, m.CPUs, m.Go)
	for _, note := range r.notes {
		text = fmt.Appendf(text, "- %s\n", note)
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("cannot print report: %w", err)
	}
	return r.Report.PrintVerdict(w)
}

// words are printed a paragraph each.
func words(said []string) (text []byte) {
	for _, sentence := range said {
		text = fmt.Appendf(text, "%s\n\n", sentence)
	}
	return text
}

// printMeasurements prints a line for all figures of one measurement.
func printMeasurements(w io.Writer, figures map[string]report.Spread) {
	fmt.Fprint(w, "\nmeasurement\ta second\tmin\tmax\tp99 ms\tcores: client\tservers\tothers\t\n")
	for _, figure := range slices.Sorted(maps.Keys(figures)) {
		name, ok := strings.CutSuffix(figure, perSecond(""))
		if !ok {
			continue
		}
		s := figures[figure]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t", name, digits(s.Median), digits(s.Min), digits(s.Max))
		for _, key := range []string{p99(name), client(name), servers(name), others(name)} {
			text := ""
			if value, ok := figures[key]; ok {
				text = digits(value.Median)
			}
			fmt.Fprintf(w, "%s\t", text)
		}
		fmt.Fprintln(w)
	}
}

// withoutMeasurements are the figures that the first table leaves out.
func withoutMeasurements(figures map[string]report.Spread) map[string]report.Spread {
	rest := maps.Clone(figures)
	for figure := range figures {
		if name, ok := strings.CutSuffix(figure, perSecond("")); ok {
			for _, key := range []string{figure, p99(name), client(name), servers(name), others(name)} {
				delete(rest, key)
			}
		}
	}
	return rest
}

func printSpread(w io.Writer, title string, rows map[string]report.Spread) {
	fmt.Fprintf(w, "\n%s\tmedian\tmin\tmax\t\n", title)
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		s := rows[name]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t\n", name, digits(s.Median), digits(s.Min), digits(s.Max))
	}
}

func printCurves(w io.Writer, curves []report.Curve) {
	over := ""
	for _, c := range curves {
		if c.Over != over {
			over = c.Over
			fmt.Fprintf(w, "\nby %s\tsize\tmedian\tmin\tmax\t\n", over)
		}
		for _, p := range c.Points {
			fmt.Fprintf(w, "%s\t%.0f\t%s\t%s\t%s\t\n", c.Name, p.Size, digits(p.Median), digits(p.Min), digits(p.Max))
		}
	}
}

// digits writes a figure with the digits that mean something.
func digits(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.3f", v)
	}
}
