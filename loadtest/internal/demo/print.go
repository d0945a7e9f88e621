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
	for _, table := range []func(io.Writer) error{rep.PrintFunnel, rep.PrintLatency, rep.PrintQueueWait, rep.PrintProcesses, rep.PrintSettings, rep.PrintWords} {
		if err := table(w); err != nil {
			return err
		}
	}
	return rep.PrintVerdict(w)
}
