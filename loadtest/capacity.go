package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"sluice/loadtest/internal/capacity"
	"sluice/loadtest/internal/costs"
	"sluice/loadtest/internal/report"
	"sluice/shared/service"
)

// planning is what loadtest capacity is told.
type planning struct {
	costs.Config
	out, bin, from, into string
	quick                bool
}

func parseCapacity(args []string, getenv func(string) string) (p planning, err error) {
	p.Config = costs.Full(3)
	fs := flag.NewFlagSet("capacity", flag.ContinueOnError)
	fs.StringVar(&p.out, "out", "", "`directory` of report.json, report.html, sales files and logs (default out/capacity, with -costs out/capacity/answer)")
	fs.StringVar(&p.bin, "bin", "bin", "`directory` with gateway, worker, warmup, loadtest and nats-server")
	fs.StringVar(&p.from, "costs", "", "`file` report.json of an earlier run, whose costs are taken: nothing is measured")
	fs.StringVar(&p.into, "into", "", "`file` in Markdown to put what was measured into, if the verdict is pass, between its marks, as docs/capacity.md has them")
	fs.IntVar(&p.Rounds, "rounds", p.Rounds, "how often everything is measured; figures are medians")
	fs.BoolVar(&p.quick, "quick", false, "one short round, whatever -rounds says, to see that it runs")
	d := &p.Demand
	fs.Float64Var(&d.Buyers, "buyers", d.Buyers, "buyers who come")
	fs.Float64Var(&d.Seconds, "seconds", d.Seconds, "in which they come, evenly")
	fs.Float64Var(&d.AttemptsPerBuyer, "attempts-per-buyer", d.AttemptsPerBuyer, "attempts of each")
	fs.Float64Var(&d.Units, "units", d.Units, "of all sales together")
	fs.IntVar(&d.Sales, "sales", d.Sales, "that are open at once")
	fs.Float64Var(&d.Hottest, "hottest", d.Hottest, "`part` of attempts and units that is the hottest sale's; an even share at least")
	fs.Float64Var(&d.News, "news", d.News, "`seconds` for which gateways let attempts through to a sale that has just sold out")
	fs.Float64Var(&d.PollEvery, "poll", d.PollEvery, "`seconds` between two reads of a ticket that waits")
	fs.IntVar(&d.CoresPerGateway, "cores-per-gateway", d.CoresPerGateway, "cores of a gateway's machine")
	fs.IntVar(&d.CoresPerWorker, "cores-per-worker", d.CoresPerWorker, "cores of a worker's machine")
	fs.IntVar(&d.CoresOfPostgres, "cores-of-postgres", d.CoresOfPostgres, "cores of the Postgres that writes")
	fs.IntVar(&d.Replicas, "nats-servers", d.Replicas, "servers of NATS, of which one leads the stream")
	fs.Float64Var(&d.Message, "message", d.Message, "`seconds` that a hand-over takes alone, with its sync and its replicas'; 0 is as measured here")
	fs.Float64Var(&d.Utilisation, "utilisation", d.Utilisation, "`part` of the time that anything is planned to be busy")
	if err := service.Parse(fs, args, getenv); err != nil {
		return p, err
	}
	if p.out == "" {
		p.out = filepath.Join("out", "capacity")
		if p.from != "" {
			p.out = filepath.Join(p.out, "answer")
		}
	}
	if d.Sales > 0 {
		d.Hottest = max(d.Hottest, 1/float64(d.Sales)) // one sale has all of it
	}
	if p.quick {
		quick := costs.Quick()
		quick.Demand = p.Demand
		p.Config = quick
	}
	return p, p.check()
}

func (p planning) check() error {
	if err := checkOut(p.out); err != nil {
		return err
	}
	if p.into != "" && p.from != "" {
		return service.UsageErrorf("-into (SLUICE_INTO) is for what is measured: leave -costs (SLUICE_COSTS) out")
	}
	if p.from != "" && sameFile(p.from, filepath.Join(p.out, "report.json")) {
		return service.UsageErrorf("-out (SLUICE_OUT): the answer's report.json would replace %s, which has the costs: name another directory", p.from)
	}
	if p.into != "" {
		if _, _, err := capacityMarks.around(p.into); err != nil {
			return err
		}
	}
	if err := checkRounds("rounds", p.Rounds, 1); err != nil {
		return err
	}
	if err := p.Check(); err != nil {
		return service.UsageErrorf("%v", err)
	}
	if err := p.Demand.Check(); err != nil {
		return service.UsageErrorf("%v", err)
	}
	return nil
}

// sameFile reports whether two paths are of one file that is there.
func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	other, otherErr := os.Stat(b)
	return err == nil && otherErr == nil && os.SameFile(one, other)
}

// capacityCommand measures what operations cost and says what a sale takes.
func capacityCommand(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	p, err := parseCapacity(args, getenv)
	if err != nil {
		return err
	}
	var rep report.Report
	if p.from != "" {
		measured, err := readCosts(p.from)
		if err != nil {
			return service.UsageErrorf("-costs (SLUICE_COSTS): %v", err)
		}
		rep.Verdict.Pass, rep.Machine = true, report.ThisMachine()
		costs.Explain(&rep, capacity.Plan(p.Demand, measured))
	} else {
		log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
		rep = costs.Run(ctx, p.Config, costs.Site{Out: p.out, Bin: p.bin, Log: log}, stdout)
	}
	if err := conclude(rep, p.out, stdout, func(w io.Writer) error { return costs.Print(w, rep) }); err != nil {
		return err
	}
	if p.into == "" || !rep.Verdict.Pass {
		return nil
	}
	return capacityMarks.put(p.into, costs.Markdown(rep))
}

var capacityMarks = marks{"<!-- capacity: loadtest capacity -into -->\n", "<!-- /capacity -->\n"}

// readCosts reads what an earlier run measured.
func readCosts(path string) (capacity.Costs, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return capacity.Costs{}, fmt.Errorf("cannot read costs: %w", err)
	}
	var rep struct {
		Config struct{ Costs *capacity.Costs }
	}
	if err := json.Unmarshal(content, &rep); err != nil {
		return capacity.Costs{}, fmt.Errorf("cannot read costs from %s: %w", path, err)
	}
	if rep.Config.Costs == nil {
		return capacity.Costs{}, fmt.Errorf("%s has no costs: name the report.json of a run of loadtest capacity that measured", path)
	}
	return *rep.Config.Costs, nil
}
