package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/compare"
	"sluice/loadtest/internal/stack"
	"sluice/shared/service"
)

const compareWorkers = 2

// compareCommand sells and gives out by Sluice and by other systems, on the stores of a
// stack of its own, and says what became of it.
func compareCommand(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("compare", flag.ContinueOnError)
	out := fs.String("out", filepath.Join("out", "compare"), "`directory` of report.json, report.html, sales files and logs")
	bin := fs.String("bin", "bin", "`directory` with gateway, worker, warmup and nats-server")
	rounds := fs.Int("rounds", 10, "how often each system is shown the crowd; the sale and claims have three rounds at most")
	only := fs.String("only", "", "the one `part` to run: "+strings.Join(compare.Parts(), ", ")+"; everything if empty")
	quick := fs.Bool("quick", false, "one round of everything with few buyers, whatever -rounds says, to see that it runs and that the judge sees")
	if err := service.Parse(fs, args, getenv); err != nil {
		return err
	}
	if err := checkOut(*out); err != nil {
		return err
	}
	if err := checkRounds("rounds", *rounds, 1); err != nil {
		return err
	}
	if *only != "" && !compare.Known(*only) {
		return service.UsageErrorf("-only (SLUICE_ONLY) must be one of: %s", strings.Join(compare.Parts(), ", "))
	}
	config := compare.Full(*rounds)
	if *quick {
		config = compare.Quick()
	}
	config.Only = *only
	res, err := compareSystems(ctx, config, *out, *bin, slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn})), stdout)
	if err != nil {
		return err
	}
	return conclude(res.Report, *out, stdout, res.Print)
}

// compareSystems compares between the start of a stack and its end.
func compareSystems(ctx context.Context, config compare.Config, out, bin string, log *slog.Logger, stdout io.Writer) (res compare.Result, err error) {
	sales, err := writeSales(out, compare.SalesFile(time.Now()))
	if err != nil {
		return res, err
	}
	running, err := stack.Start(ctx, stack.Config{Gateways: config.Gateways(), Workers: compareWorkers, SalesFile: sales, OutDir: out, BinDir: bin, Log: log})
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, running.Close()) }()
	stores, err := collect.Open(ctx, storeURLs(running.Info()), log)
	if err != nil {
		return res, err
	}
	defer stores.Close() // it only read
	return compare.Run(ctx, config, compare.Target{Stack: running.Info(), Stores: stores, Warmup: running.Warmup, Dir: out, Program: filepath.Join(bin, "loadtest")}, stdout)
}
