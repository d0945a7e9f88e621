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
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"sluice/loadtest/internal/campaign"
	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/mix"
	"sluice/loadtest/internal/pacer"
	"sluice/loadtest/internal/stack"
	"sluice/shared/sale"
	"sluice/shared/service"
)

// attackFlags are what attack is told.
type attackFlags struct {
	mixFile, stackFile, out, bin string
	gateways, workers            int
	arrivals, rates              string
	duration, timeout            time.Duration
	attempts, first              int
	seed                         int64
	processes, connections       int
	writeSales                   string
	quick                        bool
}

// attackCommand attacks a running stack, or one of its own, as a sale is attacked, and
// says what became of every attempt.
func attackCommand(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	f, err := parseAttack(args, getenv)
	if err != nil {
		return err
	}
	config, err := f.config()
	if err != nil {
		return err
	}
	if f.writeSales != "" {
		return f.writeMixSales(config.Mix)
	}
	if err := checkFleet(f.gateways, f.workers); err != nil {
		return err
	}
	if err := checkOut(f.out); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	scene := campaign.Scene{Config: config}
	if scene.Program = filepath.Join(f.bin, "loadtest"); !isFile(scene.Program) {
		return service.UsageErrorf("loadtest, whose children send, is not in %s: run 'make build', or name another -bin (SLUICE_BIN)", f.bin)
	}
	if f.stackFile != "" {
		return f.attackRunning(ctx, scene, log, stdout)
	}
	return f.attackOwn(ctx, scene, log, stdout)
}

func (f attackFlags) writeMixSales(m mix.Mix) error {
	if err := os.MkdirAll(filepath.Dir(f.writeSales), 0o755); err != nil {
		return fmt.Errorf("cannot write the sales of -write-sales: %w", err)
	}
	if err := os.WriteFile(f.writeSales, m.SalesFile(time.Now()), 0o644); err != nil {
		return fmt.Errorf("cannot write the sales of -write-sales: %w", err)
	}
	return nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func parseAttack(args []string, getenv func(string) string) (f attackFlags, err error) {
	fs := flag.NewFlagSet("attack", flag.ContinueOnError)
	fs.StringVar(&f.mixFile, "mix", "", "`file` that declares who attempts what, see docs/mix.yaml, which is the mix without it")
	fs.StringVar(&f.stackFile, "stack", "", "`file` that describes a running stack, which has the mix's sales, and whose Redis may be one server, a cluster or Sentinel; without it a stack is started")
	fs.StringVar(&f.out, "out", filepath.Join("out", "attack"), "`directory` of report.json, report.html and, of a stack of its own, the sales file and logs")
	fs.StringVar(&f.bin, "bin", "bin", "`directory` with loadtest and, for a stack of its own, gateway, worker, warmup and nats-server")
	fs.IntVar(&f.gateways, "gateways", 2, "how many gateways a stack of its own has")
	fs.IntVar(&f.workers, "workers", 1, "how many workers a stack of its own has")
	fs.StringVar(&f.arrivals, "arrivals", pacer.KindStepped, "how attempts come: constant (one rate), stepped (one rate after the other, each as long) or spike (the first rate, and the second for the middle fifth)")
	fs.StringVar(&f.rates, "rates", "", "attempts a second, such as 2000,5000,8000, which they are in steps; usually 5000 constant, and 2000,8000 with a spike")
	fs.DurationVar(&f.duration, "duration", 30*time.Second, "how long attempts are sent, all rates together")
	fs.IntVar(&f.attempts, "attempts", 0, "how many attempts are sent at most; 0 is as many as come in -duration")
	fs.IntVar(&f.first, "first", 0, "`number` of the first attempt: to go on where an attack on the same stack has ended, with new buyers")
	fs.Int64Var(&f.seed, "seed", 0, "other buyers who draw other lots; 0 is the mix's seed")
	fs.IntVar(&f.processes, "processes", 2, "how many processes send")
	fs.IntVar(&f.connections, "connections", 512, "attempts under way at a time, each over a connection, of all processes together")
	fs.DurationVar(&f.timeout, "timeout", 10*time.Second, "of one attempt")
	fs.StringVar(&f.writeSales, "write-sales", "", "`file` to write the mix's sales to, for up or warmup apply; nothing is attacked")
	fs.BoolVar(&f.quick, "quick", false, "one small attack on a stack of its own, whatever -rates, -duration, -attempts and -mix say, to see that it runs")
	if err := service.Parse(fs, args, getenv); err != nil {
		return f, err
	}
	if f.quick && f.stackFile != "" {
		return f, service.UsageErrorf("-quick (SLUICE_QUICK) attacks a stack of its own: leave -stack (SLUICE_STACK) out")
	}
	if f.stackFile != "" {
		fs.Visit(func(given *flag.Flag) { // by the environment too
			if given.Name == "gateways" || given.Name == "workers" {
				err = service.UsageErrorf("-%s (%s) is of a stack of its own: it is of no use with -stack (SLUICE_STACK)", given.Name, service.Variable(given.Name))
			}
		})
	}
	return f, err
}

// config is the campaign that the flags ask for.
func (f attackFlags) config() (c campaign.Config, err error) {
	c = campaign.Config{
		Mix: mix.Usual(), First: f.first, Processes: f.processes, Timeout: f.timeout,
		Arrivals: pacer.Arrivals{Kind: f.arrivals, PerSecond: pacer.UsualRates(f.arrivals), Lasts: f.duration, Most: f.attempts},
	}
	if f.mixFile != "" {
		if c.Mix, err = mix.Read(f.mixFile); err != nil {
			return c, service.UsageErrorf("-mix (SLUICE_MIX): %v", err)
		}
	}
	if f.rates != "" {
		if c.Arrivals.PerSecond, err = readRates(f.rates); err != nil {
			return c, err
		}
	}
	if f.quick {
		c.Mix, c.Arrivals = mix.Small(), pacer.Arrivals{Kind: pacer.KindStepped, PerSecond: []float64{200, 400}, Lasts: 3 * time.Second}
	}
	if f.seed != 0 {
		c.Mix.Seed = f.seed
	}
	if err := f.check(); err != nil {
		return c, err
	}
	c.Connections = f.connections / f.processes
	if err := c.Arrivals.Check(); err != nil {
		return c, service.UsageErrorf("-arrivals and -rates: %v", err)
	}
	return c, nil
}

// check finds what cannot be, by the name of the flag.
func (f attackFlags) check() error {
	switch {
	case f.processes < 1 || f.processes > campaign.MostProcesses:
		return service.UsageErrorf("-processes (SLUICE_PROCESSES) must be 1 to %d, is %d", campaign.MostProcesses, f.processes)
	case f.connections < f.processes || f.connections > campaign.MostConnections:
		return service.UsageErrorf("-connections (SLUICE_CONNECTIONS) must be %d to %d, one for each process at least, is %d", f.processes, campaign.MostConnections, f.connections)
	case f.first < 0:
		return service.UsageErrorf("-first (SLUICE_FIRST) must be 0 or more, is %d", f.first)
	case f.attempts < 0:
		return service.UsageErrorf("-attempts (SLUICE_ATTEMPTS) must be 0 or more, is %d", f.attempts)
	case f.timeout < time.Millisecond || f.timeout > time.Minute:
		return service.UsageErrorf("-timeout (SLUICE_TIMEOUT) must be 1ms to 1m, is %s", f.timeout)
	case f.duration <= 0 || f.duration > pacer.Longest:
		return service.UsageErrorf("-duration (SLUICE_DURATION) must be above 0s and at most %s, is %s", pacer.Longest, f.duration)
	}
	return f.checkOut()
}

// checkOut refuses the directory of a stack that runs: logs and announcement there are its.
func (f attackFlags) checkOut() error {
	path := filepath.Join(f.out, stack.InfoFile)
	info, err := stack.ReadInfo(path)
	if err != nil {
		return nil // none was announced
	}
	for _, g := range info.Gateways {
		if g.PID > 0 && syscall.Kill(g.PID, 0) == nil {
			return service.UsageErrorf("-out (SLUICE_OUT): %s is the directory of a running stack (%s): name another", f.out, path)
		}
	}
	return nil
}

func readRates(text string) ([]float64, error) {
	var rates []float64
	for _, part := range strings.Split(text, ",") {
		rate, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil {
			return nil, service.UsageErrorf("-rates (SLUICE_RATES) must be numbers with commas between them, such as 2000,5000,8000: %q is none", part)
		}
		rates = append(rates, rate)
	}
	return rates, nil
}

// attackOwn attacks a stack between its start and its end.
func (f attackFlags) attackOwn(ctx context.Context, scene campaign.Scene, log *slog.Logger, stdout io.Writer) (err error) {
	sales, err := writeSales(f.out, scene.Mix.SalesFile(time.Now()))
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "starting Redis, NATS, Postgres, %d gateways and %d workers\n", f.gateways, f.workers) // a lost line of progress changes nothing
	running, err := stack.Start(ctx, stack.Config{Gateways: f.gateways, Workers: f.workers, SalesFile: sales, OutDir: f.out, BinDir: f.bin, Log: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, running.Close()) }()
	scene.Info = running.Info
	return f.play(ctx, scene, log, stdout)
}

// attackRunning attacks a stack that somebody else runs.
func (f attackFlags) attackRunning(ctx context.Context, scene campaign.Scene, log *slog.Logger, stdout io.Writer) error {
	last, err := stack.ReadTarget(f.stackFile)
	if err != nil {
		return service.UsageErrorf("-stack (SLUICE_STACK): %v", err)
	}
	scene.Running = true
	var reading sync.Mutex
	scene.Info = func() stack.Info {
		reading.Lock()
		defer reading.Unlock()
		if now, err := stack.ReadTarget(f.stackFile); err == nil {
			last = now
		}
		return last // as it was, when it is gone
	}
	return f.play(ctx, scene, log, stdout)
}

// play attacks, and writes the report.
func (f attackFlags) play(ctx context.Context, scene campaign.Scene, log *slog.Logger, stdout io.Writer) (err error) {
	scene.Stack = scene.Info()
	if scene.Stores, err = collect.Open(ctx, storeURLs(scene.Stack), log); err != nil {
		return err
	}
	defer scene.Stores.Close() // it only read
	if scene.Watched, err = collect.Open(ctx, storeURLs(scene.Stack), log); err != nil {
		return err
	}
	defer scene.Watched.Close() // it only read
	if scene.OpensAt, err = findSales(ctx, scene.Stores, scene.Mix, stdout); err != nil {
		return err
	}
	if err := sayUnits(ctx, scene.Stores, scene.Mix, stdout); err != nil {
		return err
	}
	rep, err := scene.Play(ctx, stdout)
	if err != nil {
		return err
	}
	return conclude(rep, f.out, stdout, func(w io.Writer) error { return campaign.Print(w, rep) })
}

// findSales looks for the mix's sales in the stack, says which of them are not as their
// role has it, and when each opens.
func findSales(ctx context.Context, stores *collect.Stores, m mix.Mix, stdout io.Writer) (map[string]time.Time, error) {
	entries, err := stores.Postgres.Entries(ctx)
	if err != nil {
		return nil, err
	}
	opensAt, closed := make(map[string]time.Time), make(map[string]bool)
	for _, e := range entries {
		if e.Epoch > 0 && !e.Retired {
			opensAt[e.ID], closed[e.ID] = e.OpensAt, !time.Now().Before(e.ClosesAt)
		}
	}
	var missing []string
	for _, s := range m.Expanded() {
		at, found := opensAt[s.ID]
		switch early := time.Now().Before(at); {
		case !found:
			missing = append(missing, s.ID)
		case closed[s.ID]:
			fmt.Fprintf(stdout, "sale %s is over: its attempts will be refused as closed\n", s.ID)
		case early != (s.Role == mix.Early):
			fmt.Fprintf(stdout, "sale %s of role %s opens at %s\n", s.ID, s.Role, at.Format(time.RFC3339))
		}
	}
	if len(missing) > 0 {
		return nil, service.UsageErrorf("the stack does not have %d of the mix's sales, such as %s: write them with -write-sales FILE and load them with warmup apply or up -sales, or name those that there are in the mix file", len(missing), missing[0])
	}
	return opensAt, nil
}

// sayUnits says which sales of a stack do not have the units of the mix.
func sayUnits(ctx context.Context, stores *collect.Stores, m mix.Mix, stdout io.Writer) error {
	entries, err := stores.Postgres.Entries(ctx)
	if err != nil {
		return err
	}
	for _, s := range m.Expanded() {
		if i := slices.IndexFunc(entries, func(e sale.Entry) bool { return e.ID == s.ID }); i >= 0 && entries[i].Total != s.Units {
			fmt.Fprintf(stdout, "sale %s has %d units in the stack, and %d in the mix\n", s.ID, entries[i].Total, s.Units)
		}
	}
	return nil
}
