package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"sluice/loadtest/internal/report"
	"sluice/loadtest/internal/slowclients"
	"sluice/loadtest/internal/stack"
	"sluice/shared/service"
)

// slowCommand measures what honest clients notice of slow ones, on a stack of its own.
func slowCommand(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("slow", flag.ContinueOnError)
	out := fs.String("out", filepath.Join("out", "slow"), "`directory` of report.json, report.html, the sales file and logs")
	bin := fs.String("bin", "bin", "`directory` with gateway, worker, warmup, loadtest and nats-server")
	rounds := fs.Int("rounds", 5, "how often everything is measured")
	duration := fs.Duration("duration", 8*time.Second, "of one measurement")
	quick := fs.Bool("quick", false, "one short round with few connections, whatever the other flags say, to see who is refused and who is served")
	if err := service.Parse(fs, args, getenv); err != nil {
		return err
	}
	if err := checkOut(*out); err != nil {
		return err
	}
	if err := checkTimed(*rounds, *duration); err != nil {
		return err
	}
	config := slowclients.Full(*rounds, *duration)
	if *quick {
		config = slowclients.Quick()
	}
	rep, err := measureSlow(ctx, config, *out, *bin, slog.New(slog.NewTextHandler(stderr, nil)), stdout)
	if err != nil {
		return err
	}
	return conclude(rep, *out, stdout, func(w io.Writer) error { return slowclients.Print(w, rep) })
}

// measureSlow measures between the start of a stack and its end. The gateway has its
// usual limits, but those of attempts: its honest clients have one address.
func measureSlow(ctx context.Context, config slowclients.Config, out, bin string, log *slog.Logger, stdout io.Writer) (rep report.Report, err error) {
	sales, err := writeSales(out, slowclients.SalesFile(time.Now()))
	if err != nil {
		return rep, err
	}
	running, err := stack.Start(ctx, stack.Config{Gateways: 1, Workers: 1, SalesFile: sales, OutDir: out, BinDir: bin, Log: log,
		FirstEnv: map[string][]string{"gateway-0": config.GatewayEnv()}})
	if err != nil {
		return rep, err
	}
	defer func() { err = errors.Join(err, running.Close()) }()
	return slowclients.Run(ctx, config, slowclients.Target{Stack: running.Info(), Clients: filepath.Join(bin, "loadtest")}, stdout)
}
