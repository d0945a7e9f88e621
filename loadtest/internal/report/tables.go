package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"sluice/shared/sale"
)

// PrintFunnel prints what entered each layer and how it left, in the funnel's order.
func (r Report) PrintFunnel(w io.Writer) error {
	return table(w, "funnel\tentered\tleft here\tpassed on\texits", func(row func(string, ...any)) {
		for _, layer := range sale.Layers() {
			l, ok := r.Funnel[layer.String()]
			if !ok {
				continue
			}
			var left int64
			for _, n := range l.Exits {
				left += n
			}
			row("%s\t%d\t%d\t%d\t%s", layer, l.Entered, left, l.Entered-left, exits(l.Exits))
		}
	})
}

// exits lists the exits that were taken, the most used first.
func exits(counts map[string]int64) string {
	taken := slices.DeleteFunc(slices.Sorted(maps.Keys(counts)), func(name string) bool { return counts[name] == 0 })
	slices.SortStableFunc(taken, func(a, b string) int { return int(counts[b] - counts[a]) })
	for i, name := range taken {
		taken[i] = fmt.Sprintf("%s %d", name, counts[name])
	}
	return strings.Join(taken, ", ")
}

// PrintLatency prints a line of latencies a class, in milliseconds.
func (r Report) PrintLatency(w io.Writer) error {
	return table(w, "latency (ms, from the due time)\tcount\tp50\tp95\tp99\tmax", func(row func(string, ...any)) {
		for _, class := range slices.Sorted(maps.Keys(r.Latency)) {
			s := r.Latency[class]
			row("%s\t%d\t%.2f\t%.2f\t%.2f\t%.2f", class, s.Count, s.P50, s.P95, s.P99, s.Max)
		}
	})
}

// PrintQueueWait prints how long reservations waited and what the database wrote.
func (r Report) PrintQueueWait(w io.Writer) error {
	return table(w, "queue wait (s)\tp50\tp95\tp99\tmax", func(row func(string, ...any)) {
		q := r.QueueWait
		row("accepted to outcome\t%.3f\t%.3f\t%.3f\t%.3f", q.P50, q.P95, q.P99, q.Max)
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

// table prints a header, the rows that fill adds, and an empty line.
func table(w io.Writer, header string, fill func(row func(string, ...any))) error {
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
