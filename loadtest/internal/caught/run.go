package caught

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"sluice/loadtest/internal/chaos"
	"sluice/loadtest/internal/mutants"
	"sluice/loadtest/internal/report"
)

// patience is for what is to come to an end after a round with a protection gone: longer
// than the same takes with it, and not as long as it may.
const patience = 20 * time.Second

// Config of a run.
type Config struct {
	Mutations []mutants.Mutation
	Chaos     chaos.Config // its Seeds are those of every row; Rows, Mutation and Patience are not asked for
}

// Run runs the rows of the mutations as they are and then, if they pass, each with its
// protection gone. It says on out how far it is.
func Run(ctx context.Context, c Config, out io.Writer) (whole []report.Fault, all []report.Mutant, err error) {
	rows, err := rowsOf(c.Mutations)
	if err != nil {
		return nil, nil, err
	}
	for _, m := range c.Mutations {
		if err := mutants.Check(c.Chaos.Src, m.Name); err != nil {
			return nil, nil, err
		}
	}
	say(out, "each row with no more taken away than it says itself")
	if whole, err = c.run(ctx, rows, "", out); err != nil {
		return whole, nil, err
	}
	for _, f := range whole {
		if !f.Pass {
			return whole, nil, nil // its finding is the verdict's: what a mutation adds to it cannot be told
		}
	}
	for _, m := range c.Mutations {
		say(out, "%s: %s", m.Name, m.Takes)
		began := time.Now()
		faults, err := c.run(ctx, []chaos.Row{rowOf(rows, m.Row)}, m.Name, out)
		if err != nil {
			return whole, all, fmt.Errorf("cannot run row %s with mutation %s: %w", m.Row, m.Name, err)
		}
		for _, f := range faults {
			result := judge(m, whole, f)
			result.TookS = time.Since(began).Seconds()
			all = append(all, result)
			say(out, "%s", result.Line())
		}
	}
	return whole, all, nil
}

// run runs rows on stacks of their own.
func (c Config) run(ctx context.Context, rows []chaos.Row, mutation string, out io.Writer) ([]report.Fault, error) {
	own := c.Chaos
	own.Rows, own.Mutation, own.OutDir = rows, mutation, filepath.Join(c.Chaos.OutDir, "whole")
	if mutation != "" {
		own.OutDir, own.Patience = filepath.Join(c.Chaos.OutDir, mutation), patience
	}
	return chaos.Run(ctx, own, out)
}

// rowsOf are the rows that mutations name, each once, in the order of the matrix.
func rowsOf(mutations []mutants.Mutation) ([]chaos.Row, error) {
	rows := chaos.Rows()
	for _, m := range mutations {
		if !slices.ContainsFunc(rows, func(row chaos.Row) bool { return row.ID == m.Row }) {
			return nil, fmt.Errorf("mutation %s is for row %s, which there is not", m.Name, m.Row)
		}
	}
	return slices.DeleteFunc(rows, func(row chaos.Row) bool {
		return !slices.ContainsFunc(mutations, func(m mutants.Mutation) bool { return m.Row == row.ID })
	}), nil
}

func rowOf(rows []chaos.Row, id string) chaos.Row {
	return rows[slices.IndexFunc(rows, func(row chaos.Row) bool { return row.ID == id })]
}

func say(out io.Writer, format string, args ...any) {
	// A progress line that cannot be printed is no reason to stop.
	_, _ = fmt.Fprintf(out, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
