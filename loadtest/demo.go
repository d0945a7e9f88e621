package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/demo"
	"sluice/loadtest/internal/report"
	"sluice/loadtest/internal/stack"
	"sluice/shared/service"
)

const (
	demoSale     = "demo-phone"
	demoGateways = 2
	demoTimeout  = 4 * time.Minute // of the whole demonstration
)

// demoStarts are how long a stack may take to start before its sale opens. The
// first start on a machine is slow, and its caches make the next one fast.
var demoStarts = [...]time.Duration{5 * time.Second, 20 * time.Second, time.Minute}

// demoCommand sells one sale on a stack of its own and says how it went.
func demoCommand(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("demo", flag.ContinueOnError)
	out := fs.String("out", filepath.Join("out", "demo"), "`directory` of report.json, report.html, the sales file and logs")
	bin := fs.String("bin", "bin", "`directory` with gateway, worker, warmup and nats-server")
	if err := service.Parse(fs, args, getenv); err != nil {
		return err
	}
	if err := checkOut(*out); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	ctx, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()
	rep, err := demonstrate(ctx, plainDemo(*out, *bin, log), stdout)
	if err != nil {
		return err
	}
	return conclude(rep, *out, stdout, func(w io.Writer) error { return demo.Print(w, rep) })
}

// staging is the stack of a demonstration.
type staging struct {
	stack  stack.Config // without its sales file
	words  string       // what it is made of
	starts []time.Duration

	// after, if there is one, goes on with the stack when the sale is over.
	after func(ctx context.Context, s *stack.Stack, stores *collect.Stores, rep *report.Report) error
}

func plainDemo(out, bin string, log *slog.Logger) staging {
	return staging{
		stack: stack.Config{Gateways: demoGateways, Workers: 1, OutDir: out, BinDir: bin, Log: log},
		words: fmt.Sprintf("Redis, NATS, Postgres, %d gateways and a worker", demoGateways), starts: demoStarts[:],
	}
}

// demonstrate runs the demonstration between the start of a stack and its end.
func demonstrate(ctx context.Context, on staging, stdout io.Writer) (rep report.Report, err error) {
	running, opensAt, err := on.startForSale(ctx, stdout)
	if err != nil {
		return rep, err
	}
	defer func() {
		if stopped := running.Close(); stopped != nil {
			rep.Fail("scenario", "the stack did not end well: %v", stopped)
		}
	}()
	info := running.Info()
	stores, err := collect.Open(ctx, storeURLs(info), on.stack.Log)
	if err != nil {
		return rep, err
	}
	defer stores.Close() // it only read
	target := demo.Target{
		SaleID: demoSale, OpensAt: opensAt, Stores: stores, Stack: running.Info,
		JWTKey: []byte(info.Secrets.JWTHS256), JWTIssuer: info.Secrets.JWTIssuer, JWTAudience: info.Secrets.JWTAudience,
	}
	for _, g := range info.Gateways {
		target.Gateways = append(target.Gateways, demo.Gateway{URL: g.URL, OpsURL: g.OpsURL})
	}
	rep, err = demo.Run(ctx, target, stdout)
	if err != nil || on.after == nil {
		return rep, err
	}
	err = on.after(ctx, running, stores, &rep)
	return rep, err
}

// startForSale starts a stack whose sale opens once the first buyers had the time
// to come too early. A start that takes longer is done again with more time.
func (on staging) startForSale(ctx context.Context, stdout io.Writer) (*stack.Stack, time.Time, error) {
	config := on.stack
	for _, patience := range on.starts {
		fmt.Fprintf(stdout, "starting %s\n", on.words) // a lost line of progress changes nothing
		opensAt := time.Now().Add(patience + demo.Lead()).Truncate(time.Millisecond)
		sales, err := writeSales(config.OutDir, demoSales(opensAt))
		if err != nil {
			return nil, opensAt, err
		}
		config.SalesFile = sales
		running, err := stack.Start(ctx, config)
		if err != nil {
			return nil, opensAt, err
		}
		if time.Until(opensAt) > demo.Lead()+demo.Preparation {
			return running, opensAt, nil
		}
		if err := running.Close(); err != nil {
			return nil, opensAt, err
		}
	}
	return nil, time.Time{}, fmt.Errorf("cannot start a stack within %s", on.starts[len(on.starts)-1])
}

// demoSales is the demonstration's sales file.
func demoSales(opensAt time.Time) []byte {
	return fmt.Appendf(nil, `sales:
  - id: %s
    kind: goods
    title: Phone at half price
    sku: PHONE-1
    total: %d
    price: 199900
    currency: CNY
    per_user_limit: 1
    opens_at: %s
    closes_at: %s
    hold: 15m
`, demoSale, demo.Units, inFile(opensAt), inFile(opensAt.Add(time.Hour)))
}

func inFile(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
