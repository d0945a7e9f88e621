package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"sluice/loadtest/internal/chaos"
	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/demo"
	"sluice/loadtest/internal/report"
	"sluice/loadtest/internal/stack"
	"sluice/shared/service"
)

const (
	clusterGateways    = 4
	clusterWorkers     = 4
	clusterDemoTimeout = 12 * time.Minute // on a machine that has other things to do
)

// clusterStarts are demoStarts for eleven servers and eight programs.
var clusterStarts = []time.Duration{20 * time.Second, time.Minute, 3 * time.Minute}

// clusterDemoCommand sells one sale on clustered stores as demo does, then a longer one while
// one server of each store is killed in turn, and says how that went.
func clusterDemoCommand(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("cluster-demo", flag.ContinueOnError)
	out := fs.String("out", filepath.Join("out", "cluster-demo"), "`directory` of report.json, report.html, sales files and logs")
	bin := fs.String("bin", "bin", "`directory` with gateway, worker, warmup and nats-server")
	if err := service.Parse(fs, args, getenv); err != nil {
		return err
	}
	if err := checkOut(*out); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, clusterDemoTimeout)
	defer cancel()
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelError})) // what warns while a store is gone is meant to
	rep, err := demonstrate(ctx, clusterDemo(*out, *bin, log, stdout), stdout)
	if err != nil {
		return err
	}
	return conclude(rep, *out, stdout, func(w io.Writer) error {
		return errors.Join(rep.PrintFaults(w), rep.PrintPauses(w), demo.Print(w, rep))
	})
}

// clusterDemo is a demonstration on stores that survive the loss of any one server.
func clusterDemo(out, bin string, log *slog.Logger, stdout io.Writer) staging {
	return staging{
		stack: stack.Config{Gateways: clusterGateways, Workers: clusterWorkers, Cluster: true, OutDir: out, BinDir: bin, Log: log},
		words: fmt.Sprintf("Redis of 3 masters and 3 replicas, 3 NATS, Postgres with a standby, %d gateways and %d workers", clusterGateways, clusterWorkers), starts: clusterStarts,
		after: func(ctx context.Context, s *stack.Stack, stores *collect.Stores, rep *report.Report) error {
			fmt.Fprintln(stdout, "again, with a longer sale: a Redis master, the NATS leader and the Postgres primary are killed in turn") // a lost line of progress changes nothing
			c := chaos.Config{Rows: []chaos.Row{chaos.StoresDieInTurn()}, Seeds: []uint64{1}, OutDir: out, BinDir: bin, Log: log}
			faults, err := c.On(ctx, s, stores, stdout)
			rep.Faults = faults
			adopt(rep, faults)
			rep.Words = append(rep.Words, pauseWords(faults)...)
			return err
		},
	}
}

// pauseWords say how long the sale stood still.
func pauseWords(faults []report.Fault) (words []string) {
	for _, f := range faults {
		for _, p := range f.Pauses {
			words = append(words, fmt.Sprintf("With %s killed no attempt was answered 202 for %.1f s, and no order was made for %.1f s, at the longest.", p.Of, p.AcceptsS, p.OrdersS))
		}
	}
	return words
}
