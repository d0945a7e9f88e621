package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
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

// PrintProcesses prints what each process used, if any was watched.
func (r Report) PrintProcesses(w io.Writer) error {
	if len(r.Processes) == 0 {
		return nil
	}
	return printTable(w, "process\tcores\tCPU s\tCPU µs an attempt\tMiB", func(row func(string, ...any)) {
		for _, p := range r.Processes {
			row("%s\t%.2f\t%.2f\t%s\t%s", p.Name, p.Cores, p.CPUSeconds, orNone(p.MicrosPerTry), orNone(p.ResidentMB))
		}
	})
}

// PrintSettings prints what the database wrote beside the settings that cause it, if
// workers were watched.
func (r Report) PrintSettings(w io.Writer) error {
	if len(r.Settings) == 0 {
		return nil
	}
	s := r.writesSection()
	if _, err := fmt.Fprintf(w, "database writes: %s\n", s.Desc); err != nil {
		return fmt.Errorf("cannot print table: %w", err)
	}
	return printTable(w, strings.Join(s.Table.Head, "\t"), func(row func(string, ...any)) {
		for _, cells := range s.Table.Rows {
			row("%s", strings.Join(cells, "\t"))
		}
	})
}

// PrintWords prints what was found, a sentence a line.
func (r Report) PrintWords(w io.Writer) error {
	for _, sentence := range r.Words {
		if _, err := fmt.Fprintln(w, sentence); err != nil {
			return fmt.Errorf("cannot print words: %w", err)
		}
	}
	return nil
}

// PrintNotMeasured prints what a reader might take for measured, a line each.
func (r Report) PrintNotMeasured(w io.Writer) error {
	text := fmt.Appendf(nil, "\nnot measured:\n")
	for _, words := range r.NotMeasured {
		text = fmt.Appendf(text, "- %s\n", words)
	}
	if _, err := w.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("cannot print report: %w", err)
	}
	return nil
}

// PrintPromises prints what was promised and what was found, a line each, if anything
// was.
func (r Report) PrintPromises(w io.Writer) error {
	if len(r.Promises) == 0 {
		return nil
	}
	return printTable(w, "promise\tfound\theld", func(row func(string, ...any)) {
		for _, p := range r.Promises {
			row("%s\t%s\t%s", p.Text, p.Found(), p.Word())
		}
	})
}

// PrintVerdict prints the verdict and every violation.
func (r Report) PrintVerdict(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "verdict: %s\n", r.word()); err != nil {
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
// about them, the words, and the verdict.
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
	if err := r.PrintWords(w); err != nil {
		return err
	}
	return r.PrintVerdict(w)
}
