package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sluice/loadtest/internal/bench"
	"sluice/loadtest/internal/collect"
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
	quick := fs.Bool("quick", false, "one short round of everything, whatever -rounds and -duration say, to see that it runs")
	if err := service.Parse(fs, args, getenv); err != nil {
		return err
	}
	if *rounds < 1 || *duration < time.Second || *duration > time.Minute {
		return service.UsageErrorf("-rounds (SLUICE_ROUNDS) must be at least 1, -duration (SLUICE_DURATION) 1s to 1m")
	}
	if *only != "" && !slices.Contains(bench.Parts(), *only) {
		return service.UsageErrorf("-only (SLUICE_ONLY) must be one of: %s", strings.Join(bench.Parts(), ", "))
	}
	config := bench.Full(*rounds, *duration)
	if *quick {
		config = bench.Quick()
	}
	config.Only = *only
	res, err := measure(ctx, config, *out, *bin, slog.New(slog.NewTextHandler(stderr, nil)), stdout)
	if err != nil {
		return err
	}
	if err := res.Report.Write(*out); err != nil {
		return err
	}
	if err := res.Print(stdout); err != nil {
		return err
	}
	if !res.Report.Verdict.Pass {
		return errVerdict
	}
	return nil
}

// measure runs the bench between the start of a stack and its end.
func measure(ctx context.Context, config bench.Config, out, bin string, log *slog.Logger, stdout io.Writer) (res bench.Result, err error) {
	sales := filepath.Join(out, "sales.yaml")
	if err := os.MkdirAll(out, 0o755); err != nil {
		return res, fmt.Errorf("cannot write sales file: %w", err)
	}
	if err := os.WriteFile(sales, bench.SalesFile(config, time.Now()), 0o644); err != nil {
		return res, fmt.Errorf("cannot write sales file: %w", err)
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
	return bench.Run(ctx, config, bench.Target{Stack: running.Info(), Stores: stores, Empty: filepath.Join(bin, "loadtest")}, stdout)
}
