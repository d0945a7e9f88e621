package campaign

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"sluice/loadtest/internal/report"
)

// Print writes a report's tables, words and verdict.
func Print(w io.Writer, rep report.Report) error {
	if _, err := fmt.Fprintln(w); err != nil {
		return fmt.Errorf("cannot print report: %w", err)
	}
	steps := func(w io.Writer) error { return printTables(w, rep.Tables) }
	for _, table := range []func(io.Writer) error{rep.PrintFunnel, rep.PrintLatency, steps, rep.PrintQueueWait, rep.PrintProcesses, rep.PrintSettings, rep.PrintWords, rep.PrintNotMeasured} {
		if err := table(w); err != nil {
			return err
		}
	}
	return rep.PrintVerdict(w)
}

func printTables(w io.Writer, tables []report.Table) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) // the Flush below reports a failure
	for _, one := range tables {
		for _, row := range append([][]string{one.Head}, one.Rows...) {
			fmt.Fprintln(t, strings.Join(row, "\t"))
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("cannot print report: %w", err)
	}
	return nil
}

// stepsTable shows what came of each step of the schedule; false when there was one only.
func (o Outcome) stepsTable() (report.Table, bool) {
	t := report.Table{
		Title: "Steps", Text: "What came of the attempts that were due at one rate after the other: latencies in ms, from the moment each was due; what the limit was, and the cores that were busy on average.",
		Head: []string{"attempts a second", "answered", "in stock p50", "p99", "sold out p50", "p99", "limit", "cores: tool", "stack", "everything else"},
	}
	for _, s := range o.Steps {
		row := []string{fmt.Sprintf("%.0f", s.PerSecond), fmt.Sprint(s.Answered)}
		for _, phase := range []string{phaseInStock, phaseSoldOut} {
			cells := []string{"–", "–"}
			if l, found := s.Latency[phase]; found {
				cells = []string{fmt.Sprintf("%.2f", l.P50), fmt.Sprintf("%.2f", l.P99)}
			}
			row = append(row, cells...)
		}
		row = append(row, string(s.Limit), fmt.Sprintf("%.2f", s.Usage.Tool), fmt.Sprintf("%.2f", s.Usage.Stack), fmt.Sprintf("%.2f", s.Usage.Others()))
		t.Rows = append(t.Rows, row)
	}
	return t, len(o.Steps) > 1
}
