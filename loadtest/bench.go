package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sluice/loadtest/internal/bench"
	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/compare"
	"sluice/loadtest/internal/growth"
	"sluice/loadtest/internal/report"
	"sluice/loadtest/internal/stack"
	"sluice/shared/service"
)

// benchCommand measures a stack of its own and says what it found.
func benchCommand(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	out := fs.String("out", filepath.Join("out", "bench"), "`directory` of report.json, report.html, the sales file and logs")
	bin := fs.String("bin", "bin", "`directory` with gateway, worker, warmup, loadtest and nats-server")
	rounds := fs.Int("rounds", 3, "how often everything is measured")
	duration := fs.Duration("duration", 3*time.Second, "of one measurement")
	only := fs.String("only", "", "the one `part` to measure: "+strings.Join(bench.Parts(), ", ")+"; everything if empty")
	quick := fs.Bool("quick", false, "one short round, whatever -rounds and -duration say, to see that it runs: of everything but the sale, which compare -quick shows, or of the part of -only")
	if err := service.Parse(fs, args, getenv); err != nil {
		return err
	}
	if err := checkOut(*out); err != nil {
		return err
	}
	if err := checkTimed(*rounds, *duration); err != nil {
		return err
	}
	if *only != "" && !slices.Contains(bench.Parts(), *only) {
		return service.UsageErrorf("-only (SLUICE_ONLY) must be one of: %s", strings.Join(bench.Parts(), ", "))
	}
	config, grown := bench.Full(*rounds, *duration), growth.Full(*rounds)
	if *quick {
		config, grown = bench.Quick(), growth.Quick()
	}
	config.Only = *only
	b := benchRun{config: config, growth: grown, quick: *quick, out: *out, bin: *bin, log: slog.New(slog.NewTextHandler(stderr, nil)), stdout: stdout}
	res, err := b.run(ctx)
	if err != nil {
		return err
	}
	return conclude(res.Report, *out, stdout, res.Print)
}

// benchRun is one bench, of all its parts or one.
type benchRun struct {
	config   bench.Config
	growth   growth.Config
	quick    bool // one short round of everything but the sale, which compare's shows
	out, bin string
	log      *slog.Logger
	stdout   io.Writer
}

// run measures one part after the other: those with stacks of their own follow when the
// first stack has ended.
func (b benchRun) run(ctx context.Context) (res bench.Result, err error) {
	res = bench.NewResult(b.config)
	if b.config.OwnStack() {
		if res, err = measure(ctx, b.config, b.out, b.bin, b.log, b.stdout); err != nil {
			return res, err
		}
	}
	if b.config.Takes(bench.PartSale) && (!b.quick || b.config.Only == bench.PartSale) {
		b.part(ctx, bench.PartSale, &res, b.sale)
	}
	if b.config.Takes(bench.PartGrowth) {
		b.part(ctx, bench.PartGrowth, &res, func(ctx context.Context) (report.Report, error) {
			return growth.Run(ctx, b.growth, growth.Site{Out: filepath.Join(b.out, bench.PartGrowth), Bin: b.bin, Log: b.log}, b.stdout)
		})
	}
	return res, nil
}

// part measures what another package does. That it fails, or is interrupted, fails the
// verdict and costs nothing of what was measured before.
func (b benchRun) part(ctx context.Context, name string, into *bench.Result, measure func(context.Context) (report.Report, error)) {
	err := ctx.Err()
	if err == nil {
		var rep report.Report
		if rep, err = measure(ctx); err == nil {
			into.Add(name, rep)
			return
		}
	}
	into.Report.Fail("scenario", "%s was not measured: %v", name, err)
}

// sale measures a whole sale beside other ways to sell, as compare does.
func (b benchRun) sale(ctx context.Context) (report.Report, error) {
	config := compare.Full(b.config.Rounds)
	if b.quick {
		config = compare.Quick()
	}
	config.Only = compare.PartSale
	res, err := compareSystems(ctx, config, filepath.Join(b.out, bench.PartSale), b.bin, b.log, b.stdout)
	return res.Report, err
}

// measure runs the bench between the start of a stack and its end.
func measure(ctx context.Context, config bench.Config, out, bin string, log *slog.Logger, stdout io.Writer) (res bench.Result, err error) {
	sales, err := writeSales(out, bench.SalesFile(config, time.Now()))
	if err != nil {
		return res, err
	}
	running, err := stack.Start(ctx, stack.Config{
		Gateways: 2, Workers: 1, SalesFile: sales, OutDir: out, BinDir: bin, Log: log,
		FirstEnv: map[string][]string{"gateway-1": bench.OneByOne()},
	})
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, running.Close()) }()
	stores, err := collect.Open(ctx, storeURLs(running.Info()), log)
	if err != nil {
		return res, err
	}
	defer stores.Close() // it only read
	return bench.Run(ctx, config, bench.Target{Stack: running.Info(), Stores: stores, Empty: filepath.Join(bin, "loadtest"), Profiles: filepath.Join(out, "profiles")}, stdout)
}
