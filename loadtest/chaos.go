package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
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
	out := fs.String("out", "", "`directory` of report.json, report.html, sales files and logs (default out/chaos, with -cluster out/cluster-chaos)")
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
	all := chaos.Rows()
	if *cluster {
		all = chaos.ClusterRows()
	}
	rows, err := chosen(all, *only, *except, *short)
	if err != nil {
		return err
	}
	if *list {
		return listRows(stdout, rows)
	}
	if *seeds < 1 {
		return service.UsageErrorf("-seeds (SLUICE_SEEDS) must be at least 1, is %d", *seeds)
	}
	c := chaos.Config{Rows: rows, OutDir: *out, BinDir: *bin, Src: *src, Log: slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelError}))}
	for i := range *seeds {
		c.Seeds = append(c.Seeds, *seed+uint64(i))
	}
	faults, err := chaos.Run(ctx, c, stdout)
	rep := report.Report{Faults: faults, Machine: report.ThisMachine(), Config: map[string]any{"seeds": c.Seeds, "only": *only, "except": *except, "short": *short, "cluster": *cluster}}
	rep.Verdict.Pass = true
	adopt(&rep, faults)
	if err != nil {
		rep.Fail("scenario", "%v", err)
	}
	return errors.Join(err, conclude(rep, *out, stdout, func(w io.Writer) error {
		return errors.Join(rep.PrintFaults(w), rep.PrintPauses(w), rep.PrintVerdict(w))
	}))
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
		if f.NotRun != "" {
			rep.Fail("scenario", "row %s, seed %d, was not run: %s", f.Row, f.Seed, f.NotRun)
		}
		for _, v := range f.Violations {
			rep.Fail(v.Invariant, "row %s, seed %d: %s", f.Row, f.Seed, v.Detail)
		}
	}
}

// chosen are the rows of all that were asked for.
func chosen(all []chaos.Row, only, except string, short bool) ([]chaos.Row, error) {
	wanted, err := named("only", only, all)
	if err != nil {
		return nil, err
	}
	unwanted, err := named("except", except, all)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(all), func(row chaos.Row) bool {
		return len(wanted) > 0 && !wanted[row.ID] || unwanted[row.ID] || short && !row.Short
	}), nil
}

// named are the numbers of the rows that a flag names, by number or name.
func named(flag, list string, all []chaos.Row) (map[string]bool, error) {
	numbers := make(map[string]bool)
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		i := slices.IndexFunc(all, func(row chaos.Row) bool { return row.ID == name || row.Name == name })
		if i < 0 {
			return nil, service.UsageErrorf("-%s (%s) names no row %q: -list shows them, and -cluster -list the others", flag, service.Variable(flag), name)
		}
		numbers[all[i].ID] = true
	}
	return numbers, nil
}

func listRows(w io.Writer, rows []chaos.Row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\n", row.ID, row.Name, row.Fault) // the Flush below reports a failure
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("cannot list rows: %w", err)
	}
	return nil
}
