package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"sluice/loadtest/internal/caught"
	"sluice/loadtest/internal/chaos"
	"sluice/loadtest/internal/mutants"
	"sluice/loadtest/internal/report"
	"sluice/shared/service"
)

// mutantsCommand takes protections away, one at a time, and says whether the row of the
// matrix of faults that must notice does.
func mutantsCommand(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("mutants", flag.ContinueOnError)
	out := fs.String("out", filepath.Join("out", "mutants"), "`directory` of report.json, report.html, sales files and logs")
	bin := fs.String("bin", "bin", "`directory` with gateway, worker, warmup and nats-server")
	src := fs.String("src", ".", "`directory` of Sluice's sources, which are built without each protection")
	only := fs.String("only", "", "the `mutations` to run, separated by commas; all if empty")
	list := fs.Bool("list", false, "list the mutations, and run none")
	seed := fs.Uint64("seed", 1, "of every row; the same seed breaks at the same places")
	if err := service.Parse(fs, args, getenv); err != nil {
		return err
	}
	if err := checkOut(*out); err != nil {
		return err
	}
	chosen, err := chosenMutations(*only)
	if err != nil {
		return err
	}
	if *list {
		return listMutations(stdout, chosen)
	}
	c := caught.Config{Mutations: chosen, Chaos: chaos.Config{Seeds: []uint64{*seed}, OutDir: *out, BinDir: *bin, Src: *src,
		Log: slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelError}))}}
	return freshStacks(*out, *bin, func() error {
		whole, found, err := caught.Run(ctx, c, stdout)
		if err != nil && len(whole) == 0 {
			return err // and an earlier report is worth more than one of nothing
		}
		rep := mutantsReport(whole, found, err)
		rep.Config = map[string]any{"seed": *seed, "only": *only}
		return errors.Join(err, conclude(rep, *out, stdout, rep.PrintVerdict))
	})
}

// mutantsReport fails for a row that fails with all protections in place, for a mutation that
// is not caught, and for what ended the run.
func mutantsReport(whole []report.Fault, found []report.Mutant, ended error) report.Report {
	rep := report.Report{Faults: whole, Mutants: found, Machine: report.ThisMachine()}
	rep.Verdict.Pass = true
	admit(&rep, ended)
	for _, f := range whole {
		for _, v := range f.Violations {
			rep.Fail(v.Invariant, "row %s, with all protections in place: %s", f.Row, v.Detail)
		}
	}
	if len(found) == 0 && !rep.Interrupted {
		rep.Fail("scenario", "no mutation was run")
	}
	caught := 0
	for _, m := range found {
		if m.Caught {
			caught++
		} else {
			rep.Fail("scenario", "mutation %s is not caught by row %s, which must find one of %s broken", m.Mutation, m.Row, strings.Join(m.Expected, ", "))
		}
	}
	rep.Words = []string{fmt.Sprintf("%d of %d mutations were caught by the row that must notice.", caught, len(found))}
	return rep
}

// chosenMutations are those that were asked for.
func chosenMutations(only string) (chosen []mutants.Mutation, err error) {
	names, err := listed("only", only)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		m, err := mutants.Find(name)
		if err != nil {
			return nil, service.UsageErrorf("-only (SLUICE_ONLY): %v", err)
		}
		chosen = append(chosen, m)
	}
	if len(chosen) == 0 {
		chosen = mutants.All()
	}
	return chosen, nil
}

func listMutations(w io.Writer, all []mutants.Mutation) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, m := range all {
		fmt.Fprintf(t, "%s\trow %s\t%s\n", m.Name, m.Row, m.Takes) // the Flush below reports a failure
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("cannot list mutations: %w", err)
	}
	return nil
}
