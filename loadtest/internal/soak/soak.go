package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/loop"
	"sluice/loadtest/internal/mix"
	"sluice/loadtest/internal/report"
	"sluice/loadtest/internal/stack"
	"sluice/loadtest/internal/wait"
)

// run is one soak.
type run struct {
	Config
	out       io.Writer
	stack     *stack.Stack
	stores    *collect.Stores // for audits
	auditing  sync.Mutex      // one at a time
	tokens    *mix.Tokens
	provider  *http.Client // of payments
	rehearsal string       // how the capacity was measured; "" if it was told
	perSecond float64
	began     time.Time // of the attempts

	mu       sync.Mutex
	rep      report.Report
	outcomes map[string]int // of attempts
	selling  []*goods       // open now
	audited  int            // sales
	marks    []report.Mark
}

// Run soaks a stack of its own and judges it. It says on out how far it is.
func Run(ctx context.Context, c Config, out io.Writer) (rep report.Report, err error) {
	transport := &http.Transport{MaxIdleConnsPerHost: payers}
	defer transport.CloseIdleConnections()
	r := &run{Config: c, out: out, provider: &http.Client{Transport: transport}, outcomes: make(map[string]int), rep: report.Report{Machine: report.ThisMachine()}}
	r.rep.Verdict.Pass = true
	if err := r.start(ctx); err != nil {
		return r.rep, err
	}
	defer func() {
		if stopped := errors.Join(r.stores.Close(), r.stack.Close()); stopped != nil {
			rep.Fail("scenario", "the stack did not end well: %v", stopped)
		}
	}()
	if err := r.measureCapacity(ctx); err != nil {
		return r.rep, err
	}
	r.say("%s at %.0f attempts a second, half of %.0f; seed %d", r.Lasts, r.perSecond, r.Capacity, r.Seed)
	if err := r.soak(ctx); err != nil {
		r.fail("scenario", "%v", err)
	}
	r.conclude()
	return r.rep, nil
}

// start starts a stack with a sale that nobody is interested in: every other has its time.
func (r *run) start(ctx context.Context) (err error) {
	if err := os.MkdirAll(r.OutDir, 0o755); err != nil {
		return fmt.Errorf("cannot make directory for a stack: %w", err)
	}
	path := filepath.Join(r.OutDir, "sales.yaml")
	if err := os.WriteFile(path, saleText("idle", 1, time.Now(), 24*time.Hour, hold), 0o644); err != nil {
		return fmt.Errorf("cannot write sales file: %w", err)
	}
	gateways, workers := r.settings()
	r.stack, err = stack.Start(ctx, stack.Config{
		Gateways: r.Gateways, Workers: r.Workers, SalesFile: path, OutDir: r.OutDir, BinDir: r.BinDir, Log: r.Log,
		GatewaySettings: gateways, WorkerSettings: workers, Proxied: storeNames,
	})
	if err != nil {
		return err
	}
	info := r.stack.Info()
	if r.tokens, err = loop.NewTokens(info.Secrets); err == nil {
		r.stores, err = collect.Open(ctx, collect.URLs{Redis: info.Redis.URL, NATS: info.NATS.URL, Postgres: info.Postgres.URL}, r.Log)
	}
	if err != nil {
		return errors.Join(err, r.stack.Close())
	}
	return nil
}

// soak sells, breaks and looks until the time is over, and then waits for every sale's audit.
func (r *run) soak(ctx context.Context) error {
	watch, err := openWatch(r.stack.Info())
	if err != nil {
		return err
	}
	defer watch.close()
	r.began = time.Now()
	sending, stop := context.WithTimeout(ctx, r.Lasts)
	defer stop()
	faults := r.schedule(rand.New(rand.NewPCG(r.Seed, 0)))
	var all sync.WaitGroup
	all.Go(func() { r.sell(sending, ctx) })
	all.Go(func() { r.attempt(sending, ctx) })
	all.Go(func() { r.breakThings(sending, faults) })
	all.Go(func() {
		for wait.For(sending, r.LookEvery) {
			watch.look(sending, r.stack.Info(), time.Since(r.began))
		}
	})
	all.Wait()
	r.judgeFlat(watch)
	return ctx.Err()
}

func (r *run) fail(invariant, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rep.Fail(invariant, format, args...)
}

func (r *run) say(format string, args ...any) {
	// A progress line that cannot be printed is no reason to stop.
	_, _ = fmt.Fprintf(r.out, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
