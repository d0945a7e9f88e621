package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"sluice/loadtest/internal/chaos"
	"sluice/loadtest/internal/report"
	"sluice/shared/service"
)

// chaosCommand breaks running sales in every way of the matrix and judges what became of them.
func chaosCommand(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("chaos", flag.ContinueOnError)
	cluster := fs.Bool("cluster", false, "the rows whose stores are clusters, with four gateways and four workers, instead of the others")
	out := fs.String("out", "", "`directory` of report.json, report.html, sales files and logs, which replace those of an earlier run (default out/chaos, with -cluster out/cluster-chaos)")
	bin := fs.String("bin", "bin", "`directory` with gateway, worker, warmup and nats-server")
	src := fs.String("src", ".", "`directory` of Sluice's sources, a clone: rows that need programs without a protection, or older ones, build them from there")
	only := fs.String("only", "", "the `rows` to run, by number or name, separated by commas; all if empty")
	except := fs.String("except", "", "`rows` to leave out, such as those that this machine cannot run")
	short := fs.Bool("short", false, "the rows that every change is held against, in minutes")
	list := fs.Bool("list", false, "list the rows, and run none")
	seed := fs.Uint64("seed", 1, "of the first round; the same seed breaks at the same places")
	seeds := fs.Int("seeds", 1, "rounds of each row, each with the next seed")
	if err := service.Parse(fs, args, getenv); err != nil {
		return err
	}
	*out = cmp.Or(*out, chaosOut(*cluster))
	if err := checkOut(*out); err != nil {
		return err
	}
	rows, err := wanted{*only, *except, *short, *cluster}.rows()
	if err != nil {
		return err
	}
	if *list {
		return listRows(stdout, rows)
	}
	if err := checkRounds("seeds", *seeds, 1); err != nil {
		return err
	}
	if *seed > math.MaxUint64-uint64(*seeds-1) {
		return service.UsageErrorf("-seed (SLUICE_SEED) is %d, and there are no %d seeds from there on: name a smaller one", *seed, *seeds)
	}
	c := chaos.Config{Rows: rows, OutDir: *out, BinDir: *bin, Src: *src, Log: slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelError}))}
	for i := range *seeds {
		c.Seeds = append(c.Seeds, *seed+uint64(i))
	}
	return freshStacks(*out, *bin, func() error {
		faults, err := chaos.Run(ctx, c, stdout)
		if err != nil && len(faults) == 0 {
			return err // and an earlier report is worth more than one of nothing
		}
		rep := report.Report{Command: "chaos", Faults: faults, Machine: report.ThisMachine(), Config: map[string]any{"seeds": c.Seeds, "only": *only, "except": *except, "short": *short, "cluster": *cluster}}
		rep.Verdict.Pass = true
		adopt(&rep, faults)
		admit(&rep, err)
		return errors.Join(err, conclude(rep, *out, stdout, func(w io.Writer) error {
			return errors.Join(rep.PrintFaults(w), rep.PrintPauses(w), rep.PrintVerdict(w))
		}))
	})
}

// chaosOut is where chaos writes if it is not told.
func chaosOut(cluster bool) string {
	if cluster {
		return filepath.Join("out", "cluster-chaos")
	}
	return filepath.Join("out", "chaos")
}

// adopt has what rounds found be violations of the report.
func adopt(rep *report.Report, faults []report.Fault) {
	for _, f := range faults {
		if f.NotRun != "" && !f.Interrupted {
			rep.Fail("scenario", "row %s, seed %d, was not run: %s", f.Row, f.Seed, f.NotRun)
		}
		for _, v := range f.Violations {
			rep.Fail(v.Invariant, "row %s, seed %d: %s", f.Row, f.Seed, v.Detail)
		}
	}
}

// admit has the error of a run be a violation of the report, unless it was told to end.
func admit(rep *report.Report, err error) {
	switch {
	case errors.Is(err, chaos.ErrInterrupted):
		rep.Interrupt()
	case err != nil:
		rep.Fail("scenario", "%v", err)
	}
}

// wanted is what chaos is asked for.
type wanted struct {
	only, except   string
	short, cluster bool
}

// rows are those that were asked for: one at least.
func (w wanted) rows() ([]chaos.Row, error) {
	all, others := chaos.Rows(), chaos.ClusterRows()
	if w.cluster {
		all, others = others, all
	}
	only, err := w.named("only", w.only, all, others)
	if err != nil {
		return nil, err
	}
	except, err := w.named("except", w.except, all, others)
	if err != nil {
		return nil, err
	}
	rows := slices.DeleteFunc(all, func(row chaos.Row) bool {
		return len(only) > 0 && !only[row.ID] || except[row.ID] || w.short && !row.Short
	})
	if len(rows) == 0 {
		return nil, service.UsageErrorf("no row is left: %s leave none; chaos -list, with -cluster or without, shows which there are", w.flags())
	}
	return rows, nil
}

// flags are those that choose rows, as they were given.
func (w wanted) flags() string {
	var given []string
	if w.cluster {
		given = append(given, "-cluster")
	}
	if w.short {
		given = append(given, "-short")
	}
	if w.only != "" {
		given = append(given, "-only "+w.only)
	}
	if w.except != "" {
		given = append(given, "-except "+w.except)
	}
	return strings.Join(given, " and ")
}

// named are the numbers of the rows that a flag names, by number or name.
func (w wanted) named(flag, list string, all, others []chaos.Row) (map[string]bool, error) {
	names, err := listed(flag, list)
	if err != nil {
		return nil, err
	}
	numbers := make(map[string]bool)
	for _, name := range names {
		is := func(row chaos.Row) bool { return row.ID == name || row.Name == name }
		i := slices.IndexFunc(all, is)
		switch {
		case i >= 0:
			numbers[all[i].ID] = true
		case !slices.ContainsFunc(others, is):
			return nil, service.UsageErrorf("-%s (%s) names no row %q: -list shows them, and -cluster -list the others", flag, service.Variable(flag), name)
		case w.cluster:
			return nil, service.UsageErrorf("-%s (%s): %s is a row without clusters: leave -cluster (SLUICE_CLUSTER) out", flag, service.Variable(flag), name)
		default:
			return nil, service.UsageErrorf("-%s (%s): %s needs -cluster (SLUICE_CLUSTER)", flag, service.Variable(flag), name)
		}
	}
	return numbers, nil
}

func listRows(w io.Writer, rows []chaos.Row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		promised := fmt.Sprintf("within %.0f s", row.Bound.Seconds())
		if len(row.Shows) > 0 {
			promised += ", a control"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", row.ID, row.Name, promised, row.Fault) // the Flush below reports a failure
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("cannot list rows: %w", err)
	}
	return nil
}
