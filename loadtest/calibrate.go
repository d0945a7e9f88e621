package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"sluice/loadtest/internal/calibrate"
	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/mix"
	"sluice/loadtest/internal/stack"
	"sluice/shared/service"
)

// calibration is what loadtest calibrate is told.
type calibration struct {
	calibrate.Config
	out, bin, running, mixFile string
	gateways, workers          int
	whole, quick               bool
}

func parseCalibrate(args []string, getenv func(string) string) (c calibration, err error) {
	c.Config = calibrate.Usual()
	fs := flag.NewFlagSet("calibrate", flag.ContinueOnError)
	fs.StringVar(&c.out, "out", filepath.Join("out", "calibrate"), "`directory` of report.json, report.html, the sales file and logs")
	fs.StringVar(&c.bin, "bin", "bin", "`directory` with gateway, worker, warmup, loadtest and nats-server")
	fs.StringVar(&c.running, "stack", "", "`file` stack.json of a running stack to calibrate, whose units are bought; a stack of its own if empty")
	fs.StringVar(&c.mixFile, "mix", "", "`file` that says who attempts what, as docs/mix.yaml; a stack of its own has its sales, with units that last. Who comes for what is sold out or not open stays away, see -whole-mix. If empty, everybody comes for one sale that does not sell out, and a tenth click again")
	fs.BoolVar(&c.whole, "whole-mix", false, "all of -mix comes, also for what is sold out or not open: what a stack bears of such a crowd. Limits that follow are a lower bound, not for an opening, when nobody is refused from memory")
	fs.IntVar(&c.gateways, "gateways", 2, "gateways of a stack of its own")
	fs.IntVar(&c.workers, "workers", 1, "workers of a stack of its own")
	fs.DurationVar(&c.P99, "p99", c.P99, "target: 99 of 100 in-stock attempts, accepted and repeated ones each, are answered within it of when they were due")
	fs.DurationVar(&c.Lasts, "duration", c.Lasts, "of one try of one rate; each rate is tried until two tries agree")
	fs.Float64Var(&c.Range.Start, "start", c.Range.Start, "first `rate`, attempts a second")
	fs.Float64Var(&c.Range.Most, "most", c.Range.Most, "highest `rate` that is tried, attempts a second")
	fs.Float64Var(&c.Range.Tolerance, "tolerance", c.Range.Tolerance, "how near the rate that passes and the one that does not must be, as a `part` of the former")
	fs.IntVar(&c.Processes, "processes", c.Processes, "sender processes")
	fs.IntVar(&c.Connections, "connections", c.Connections, "attempts under way at a time, each over a connection, of all processes together")
	fs.DurationVar(&c.Timeout, "timeout", c.Timeout, "of one attempt")
	fs.BoolVar(&c.Confirm, "confirm", c.Confirm, "try the recommended limits out, on gateways of a stack of its own, at twice the rate that passed")
	fs.BoolVar(&c.quick, "quick", false, "a few short tries with a wide target, whatever the other flags say, to see that it runs")
	if err := service.Parse(fs, args, getenv); err != nil {
		return c, err
	}
	if c.quick {
		c.Config = calibrate.Quick()
	}
	return c, c.check()
}

// check refuses what cannot be, and reads the mix.
func (c *calibration) check() error {
	switch {
	case c.running != "" && c.mixFile == "":
		return service.UsageErrorf("-stack (SLUICE_STACK) needs -mix (SLUICE_MIX): a file that names sales of that stack, open and with units to spare")
	case c.whole && c.mixFile == "":
		return service.UsageErrorf("-whole-mix (SLUICE_WHOLE_MIX) needs -mix (SLUICE_MIX)")
	}
	if err := checkFleet(c.gateways, c.workers); err != nil {
		return err
	}
	if err := checkOut(c.out); err != nil {
		return err
	}
	if err := c.readMix(); err != nil {
		return service.UsageErrorf("-mix (SLUICE_MIX): %v", err)
	}
	if err := c.Check(); err != nil {
		return service.UsageErrorf("%v", err)
	}
	return nil
}

func (c *calibration) readMix() error {
	if c.mixFile == "" {
		return nil
	}
	declared, err := mix.Read(c.mixFile)
	if err != nil {
		return err
	}
	c.Mix, err = calibrate.Lasting(declared, c.whole)
	return err
}

// calibrateCommand finds the rate that a stack bears and recommends limits of admission.
func calibrateCommand(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	c, err := parseCalibrate(args, getenv)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	c.Config = c.Fitted(time.Now())
	res, err := c.run(ctx, log, stdout)
	if err != nil {
		return err
	}
	return conclude(res.Report, c.out, stdout, res.Print)
}

// run calibrates a running stack, or one of its own.
func (c calibration) run(ctx context.Context, log *slog.Logger, stdout io.Writer) (res calibrate.Result, err error) {
	target := calibrate.Target{Program: filepath.Join(c.bin, "loadtest"), Stop: func() error { return nil }}
	if c.running != "" {
		if target.Stack, target.OpensAt, err = c.findRunning(ctx, log, stdout); err != nil {
			return res, err
		}
		target.Running, c.gateways = true, len(target.Stack.Gateways)
	} else {
		fmt.Fprintf(stdout, "starting Redis, NATS, Postgres, %d gateways and %d workers\n", c.gateways, c.workers) // a lost line of progress changes nothing
		info, stop, err := c.start(ctx, "search", nil, log)
		if err != nil && ctx.Err() != nil {
			return res, errors.New("told to end before a rate was tried")
		}
		if err != nil {
			return res, err
		}
		target.Stack, target.Stop = info, sync.OnceValue(stop)
	}
	defer func() { err = errors.Join(err, target.Stop()) }()
	target.Start = func(ctx context.Context, gatewayEnv []string) (stack.Info, func() error, error) {
		return c.start(ctx, "confirm", gatewayEnv, log)
	}
	return calibrate.Run(ctx, c.Config, target, stdout)
}

// findRunning reads where a running stack is and when the mix's sales open there.
func (c calibration) findRunning(ctx context.Context, log *slog.Logger, stdout io.Writer) (info stack.Info, opensAt map[string]time.Time, err error) {
	if info, err = stack.ReadTarget(c.running); err != nil {
		return info, nil, service.UsageErrorf("-stack (SLUICE_STACK): %v", err)
	}
	stores, err := collect.Open(ctx, storeURLs(info), log)
	if err != nil {
		return info, nil, err
	}
	defer stores.Close() // it only read
	opensAt, err = findSales(ctx, stores, c.Mix, stdout)
	return info, opensAt, err
}

// start starts a stack with the sales of the mix, whose gateways have extra environment.
func (c calibration) start(ctx context.Context, name string, gatewayEnv []string, log *slog.Logger) (stack.Info, func() error, error) {
	out := filepath.Join(c.out, name)
	sales, err := writeSales(out, c.Mix.SalesFile(time.Now()))
	if err != nil {
		return stack.Info{}, nil, err
	}
	config := stack.Config{Gateways: c.gateways, Workers: c.workers, SalesFile: sales, OutDir: out, BinDir: c.bin, Log: log, FirstEnv: make(map[string][]string)}
	for i := range config.Gateways {
		config.FirstEnv[fmt.Sprintf("gateway-%d", i)] = gatewayEnv
	}
	running, err := stack.Start(ctx, config)
	if err != nil {
		return stack.Info{}, nil, err
	}
	return running.Info(), running.Close, nil
}
