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
	rep, err := demonstrate(ctx, *out, *bin, log, stdout)
	if err != nil {
		return err
	}
	return conclude(rep, *out, stdout, func(w io.Writer) error { return demo.Print(w, rep) })
}

// demonstrate runs the demonstration between the start of a stack and its end.
func demonstrate(ctx context.Context, out, bin string, log *slog.Logger, stdout io.Writer) (rep report.Report, err error) {
	running, opensAt, err := startForSale(ctx, out, bin, log, stdout)
	if err != nil {
		return rep, err
	}
	defer func() {
		if stopped := running.Close(); stopped != nil {
			rep.Fail("scenario", "the stack did not end well: %v", stopped)
		}
	}()
	info := running.Info()
	stores, err := collect.Open(ctx, storeURLs(info), log)
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
	return demo.Run(ctx, target, stdout)
}

// startForSale starts a stack whose sale opens once the first buyers had the time
// to come too early. A start that takes longer is done again with more time.
func startForSale(ctx context.Context, out, bin string, log *slog.Logger, stdout io.Writer) (*stack.Stack, time.Time, error) {
	for _, patience := range demoStarts {
		fmt.Fprintf(stdout, "starting Redis, NATS, Postgres, %d gateways and a worker\n", demoGateways) // a lost line of progress changes nothing
		opensAt := time.Now().Add(patience + demo.Lead()).Truncate(time.Millisecond)
		sales, err := writeSales(out, demoSales(opensAt))
		if err != nil {
			return nil, opensAt, err
		}
		running, err := stack.Start(ctx, stack.Config{Gateways: demoGateways, Workers: 1, SalesFile: sales, OutDir: out, BinDir: bin, Log: log})
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
	return nil, time.Time{}, fmt.Errorf("cannot start a stack within %s", demoStarts[len(demoStarts)-1])
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
