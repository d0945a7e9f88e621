package main

import (
	"context"
	"flag"
	"io"
	"log/slog"
	"path/filepath"
	"strings"

	"sluice/loadtest/internal/pace"
	"sluice/shared/service"
)

// paceCommand measures whether workers find the right pace, on stacks of its own.
func paceCommand(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("pace", flag.ContinueOnError)
	out := fs.String("out", filepath.Join("out", "pace"), "`directory` of report.json, report.html, and a directory of every scenario with its sales file and logs")
	bin := fs.String("bin", "bin", "`directory` with gateway, worker, warmup and nats-server")
	only := fs.String("only", "", "`scenarios` to run, with commas between: "+strings.Join(pace.Names(), ", ")+"; all when empty")
	rounds := fs.Int("rounds", 0, "how often everything is measured; 0 is 1, with -full 3")
	batch := fs.Int("batch", 0, "`orders` in a transaction of throttle, latency and shares, 1 to 250, in many sales with one hand-over at a time; 0 is as many as the worker takes, in few sales with a long queue")
	full := fs.Bool("full", false, "longer measurements, and three rounds: half an hour rather than minutes")
	quick := fs.Bool("quick", false, "one short round on a narrow database, whatever -rounds and -full say, to see that it runs and that nothing is wrong by far")
	if err := service.Parse(fs, args, getenv); err != nil {
		return err
	}
	if err := checkOut(*out); err != nil {
		return err
	}
	if err := checkRounds("rounds", *rounds, 0); err != nil {
		return err
	}
	config := pace.Small()
	if *full {
		config = pace.Full()
	}
	if *rounds > 0 {
		config.Rounds = *rounds
	}
	if *quick {
		config = pace.Quick()
	}
	if *batch != 0 {
		config.Batch = *batch
	}
	var err error
	if config.Only, err = listed("only", *only); err != nil {
		return err
	}
	if err := config.Check(); err != nil {
		return service.UsageErrorf("-only (SLUICE_ONLY), -batch (SLUICE_BATCH): %v", err)
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	rep, err := pace.Run(ctx, config, pace.Site{Out: *out, Bin: *bin, Log: log}, stdout)
	if err != nil {
		return err
	}
	return conclude(rep, *out, stdout, func(w io.Writer) error { return pace.Print(w, rep) })
}
