package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

// PrintFunnel prints what entered each layer and how it left, in the funnel's order.
func (r Report) PrintFunnel(w io.Writer) error {
	return printTable(w, "funnel\tentered\tleft here\tpassed on\texits", func(row func(string, ...any)) {
		for _, name := range layerNames(r.Funnel) {
			l := r.Funnel[name]
			row("%s\t%d\t%d\t%d\t%s", name, l.Entered, l.left(), l.Entered-l.left(), exits(l.Exits))
		}
	})
}

// PrintLatency prints a line of latencies a class, in milliseconds.
func (r Report) PrintLatency(w io.Writer) error {
	return printTable(w, "latency (ms, from the due time)\tcount\tp50\tp95\tp99\tmax", func(row func(string, ...any)) {
		for _, class := range slices.Sorted(maps.Keys(r.Latency)) {
			s := r.Latency[class]
			row("%s\t%d\t%.2f\t%.2f\t%.2f\t%.2f", class, s.Count, s.P50, s.P95, s.P99, s.Max)
		}
	})
}

// PrintQueueWait prints how long reservations waited and what the database wrote.
func (r Report) PrintQueueWait(w io.Writer) error {
	return printTable(w, "queue wait (s)\tp50\tp95\tp99\tmax", func(row func(string, ...any)) {
		q := r.QueueWait
		row("accepted to outcome\t%.3f\t%.3f\t%.3f\t%.3f", q.P50, q.P95, q.P99, q.Max)
	})
}

// PrintPromises prints what was promised and what was found, a line each.
func (r Report) PrintPromises(w io.Writer) error {
	return printTable(w, "promise\tfound\theld", func(row func(string, ...any)) {
		for _, p := range r.Promises {
			row("%s\t%s\t%s", p.Text, p.Found(), p.Word())
		}
	})
}

// PrintVerdict prints the verdict and every violation.
func (r Report) PrintVerdict(w io.Writer) error {
	word := "fail"
	if r.Verdict.Pass {
		word = "pass"
	}
	if _, err := fmt.Fprintf(w, "verdict: %s\n", word); err != nil {
		return fmt.Errorf("cannot print verdict: %w", err)
	}
	for _, v := range r.Verdict.Violations {
		if _, err := fmt.Fprintf(w, "  %s  %s\n", v.Invariant, v.Detail); err != nil {
			return fmt.Errorf("cannot print verdict: %w", err)
		}
	}
	return nil
}

// printTable prints a header, the rows that fill adds, and an empty line.
func printTable(w io.Writer, header string, fill func(row func(string, ...any))) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(format string, args ...any) { fmt.Fprintf(t, format+"\n", args...) } // the Flush below reports a failure
	row("%s", header)
	fill(row)
	row("")
	if err := t.Flush(); err != nil {
		return fmt.Errorf("cannot print table: %w", err)
	}
	return nil
}

// PrintMeasured prints what was promised and found, all figures, the machine, what to know
// about them, and the verdict.
func (r Report) PrintMeasured(w io.Writer, notes []string) error {
	if err := r.PrintPromises(w); err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight) // the Flush below reports a failure
	fmt.Fprint(t, "figure\tmedian\tmin\tmax\t\n")
	for _, name := range slices.Sorted(maps.Keys(r.Ratios)) {
		s := r.Ratios[name]
		fmt.Fprintf(t, "%s\t%.3f\t%.3f\t%.3f\t\n", name, s.Median, s.Min, s.Max)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("cannot print report: %w", err)
	}
	m := r.Machine
	text := fmt.Appendf(nil, "\nmachine: %s/%s, %d CPUs, %s\n", m.OS, m.Arch, m.CPUs, m.Go)
	for _, note := range notes {
		text = fmt.Appendf(text, "- %s\n", note)
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("cannot print report: %w", err)
	}
	return r.PrintVerdict(w)
}
