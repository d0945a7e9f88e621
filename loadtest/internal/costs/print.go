package costs

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"sluice/loadtest/internal/report"
)

// Print writes tables, bounds and words.
func Print(w io.Writer, rep report.Report) error {
	for _, table := range rep.Tables {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintf(t, "\n%s\n%s\n", table.Title, strings.Join(table.Head, "\t")) // the Flush below reports a failure
		for _, row := range table.Rows {
			fmt.Fprintln(t, strings.Join(row, "\t"))
		}
		if err := t.Flush(); err != nil {
			return fmt.Errorf("cannot print report: %w", err)
		}
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return fmt.Errorf("cannot print report: %w", err)
	}
	if err := rep.PrintPromises(w); err != nil {
		return err
	}
	if err := rep.PrintWords(w); err != nil {
		return err
	}
	if err := rep.PrintNotMeasured(w); err != nil {
		return err
	}
	return rep.PrintVerdict(w)
}

// Markdown is what was measured, for a document: tables, and what was found in words.
func Markdown(rep report.Report) []byte {
	m := rep.Machine
	text := fmt.Appendf(nil, "Measured on %s/%s with %d CPUs, %s.\n", m.OS, m.Arch, m.CPUs, m.Go)
	for _, sentence := range rep.Words {
		text = fmt.Appendf(text, "\n%s\n", sentence)
	}
	for _, table := range rep.Tables {
		text = fmt.Appendf(text, "\n**%s.** %s\n\n| %s |\n|%s\n", table.Title, table.Text, strings.Join(table.Head, " | "), strings.Repeat("---|", len(table.Head)))
		for _, row := range table.Rows {
			text = fmt.Appendf(text, "| %s |\n", strings.Join(row, " | "))
		}
	}
	return text
}
