package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"sluice/loadtest/internal/soak"
	"sluice/loadtest/internal/stack"
	"sluice/shared/service"
)

// Minutes of a soak.
const (
	shortestSoak = 5           // of which the second half begins when as many sales are retired as come
	longestSoak  = 7 * 24 * 60 // a week
)

// soakCommand sells for a long time at half of what the stack bears, while something breaks
// every minute, and says what grows.
func soakCommand(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("soak", flag.ContinueOnError)
	c := soak.Config{Log: slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelError}))}
	fs.StringVar(&c.OutDir, "out", filepath.Join("out", "soak"), "`directory` of report.json, report.html, sales files and logs")
	fs.StringVar(&c.BinDir, "bin", "bin", "`directory` with gateway, worker, warmup and nats-server")
	minutes := fs.Float64("minutes", 30, "for which attempts are sent")
	fs.Float64Var(&c.Capacity, "capacity", 0, "attempts a second that the stack bears, of which half are sent; 0 has it measured first")
	fs.IntVar(&c.Gateways, "gateways", 2, "how many gateways the stack has")
	fs.IntVar(&c.Workers, "workers", 2, "how many workers the stack has")
	fs.Uint64Var(&c.Seed, "seed", 1, "of what breaks and when, and of who pays")
	if err := service.Parse(fs, args, getenv); err != nil {
		return err
	}
	switch {
	case !within(*minutes, shortestSoak, longestSoak):
		return service.UsageErrorf("-minutes (SLUICE_MINUTES) must be %d to %d, is %v", shortestSoak, longestSoak, *minutes)
	case c.Capacity != 0 && !within(c.Capacity, 10, 1e6):
		return service.UsageErrorf("-capacity (SLUICE_CAPACITY) must be 10 to 1,000,000, or 0 to have it measured, is %v", c.Capacity)
	}
	if err := checkFleet(c.Gateways, c.Workers); err != nil {
		return err
	}
	if err := checkOut(c.OutDir); err != nil {
		return err
	}
	c.Lasts = time.Duration(*minutes * float64(time.Minute))
	c.LookEvery = min(max(c.Lasts/300, 2*time.Second), 10*time.Second)
	if err := stack.CheckPrograms(c.BinDir); err != nil {
		return service.UsageErrorf("%v", err)
	}
	return fresh(c.OutDir, func() error {
		rep, err := soak.Run(ctx, c, stdout)
		if err != nil {
			return err // before anything was soaked
		}
		return conclude(rep, c.OutDir, stdout, func(w io.Writer) error {
			return errors.Join(rep.PrintWords(w), rep.PrintVerdict(w))
		})
	})
}

// within is false of what is no number.
func within(v, least, most float64) bool { return v >= least && v <= most }
