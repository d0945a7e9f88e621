package demo

import (
	"fmt"
	"io"

	"sluice/loadtest/internal/report"
)

// Print writes a report's tables and its verdict.
func Print(w io.Writer, rep report.Report) error {
	if _, err := fmt.Fprintln(w); err != nil {
		return fmt.Errorf("cannot print report: %w", err)
	}
	for _, table := range []func(io.Writer) error{rep.PrintFunnel, rep.PrintLatency, rep.PrintQueueWait} {
		if err := table(w); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(w, "database writes a second  %.1f rows, while orders were made\n", rep.DBWritesPerS); err != nil {
		return fmt.Errorf("cannot print report: %w", err)
	}
	return rep.PrintVerdict(w)
}
