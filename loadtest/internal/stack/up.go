package stack

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"

	"sluice/shared/service"
)

// Up runs a stack in the foreground until ctx ends: `loadtest up`. It says on stdout
// where everything is, and logs on stderr what dies and starts again.
func Up(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	config, err := parseUp(args, getenv)
	if err != nil {
		return err
	}
	config.Log = slog.New(slog.NewTextHandler(stderr, nil))
	config.LocalShop = true
	stack, err := Start(ctx, config)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil // stopped while it was starting: all is gone again
	}
	if err != nil {
		return err
	}
	if err := describe(stdout, stack.Info(), config.OutDir); err != nil {
		return errors.Join(err, stack.Close())
	}
	<-ctx.Done()
	fmt.Fprintln(stdout, "stopping")
	return stack.Close()
}

func parseUp(args []string, getenv func(string) string) (Config, error) {
	var config Config
	fs := flag.NewFlagSet("loadtest up", flag.ContinueOnError)
	fs.IntVar(&config.Gateways, "gateways", 2, "how many gateways to run")
	fs.IntVar(&config.Workers, "workers", 1, "how many workers to run")
	fs.BoolVar(&config.Cluster, "cluster", false, "stores that survive the loss of any one server: Redis of 3 masters and 3 replicas, 3 NATS, Postgres with a standby")
	fs.StringVar(&config.SalesFile, "sales", "", "`file` with the sales to open, for warmup apply")
	fs.StringVar(&config.OutDir, "out", filepath.Join("out", "up"), "`directory` for stack.json and logs")
	fs.StringVar(&config.BinDir, "bin", "bin", "`directory` with gateway, worker, warmup and nats-server")
	if err := service.Parse(fs, args, getenv); err != nil {
		return Config{}, err
	}
	if err := config.check(); err != nil {
		return Config{}, service.UsageErrorf("%v", err)
	}
	return config, nil
}

// describe tells a person where to look.
func describe(w io.Writer, info Info, outDir string) error {
	text := fmt.Appendf(nil, "Sluice is up.\n\n")
	for _, g := range info.Gateways {
		text = fmt.Appendf(text, "  gateway   %s   health and metrics %s\n", g.URL, g.OpsURL)
	}
	for _, w := range info.Workers {
		text = fmt.Appendf(text, "  worker    %s   admin, health and metrics %s\n", w.URL, w.AdminURL)
	}
	text = fmt.Appendf(text, "  redis     %s\n  nats      %s\n  postgres  %s\n", info.Redis.URL, info.NATS.URL, info.Postgres.URL)
	text = fmt.Appendf(text, "\n  secrets and pids in %s, logs in %s\n  try: curl %s/v1/sales\n\n  the buyer's page: %s/\n\nCtrl-C stops it all.\n",
		filepath.Join(outDir, InfoFile), filepath.Join(outDir, "logs"), info.Gateways[0].URL, info.Gateways[0].URL)
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("cannot say where the stack is: %w", err)
	}
	return nil
}
