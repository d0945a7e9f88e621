// Package growth measures what becomes of speed, CPU time and memory as there is more of
// one thing: open sales, gateways, workers, users who have bought.
//
//	round 1: 1 sale · 10 sales · 100 sales · 2 gateways · 4 gateways · 1 worker · 2 workers · 4 workers · 1,000 users · … · 1,000,000 users
//	round 2: …
//
// Every size has a stack of its own, of real processes. Throughput is a closed loop's;
// latency and CPU time are taken at one rate, the same for all sizes: where nothing is full,
// what grows is the cost and not the queue. Where the rate did not come, they are left out.
package growth

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"sluice/loadtest/internal/report"
)

// Config is how much is measured.
type Config struct {
	Rounds      int           `json:"rounds"`
	Stage       time.Duration `json:"stage_ns"`     // of one measurement
	Connections int           `json:"connections"`  // of the client
	PerSecond   float64       `json:"per_second"`   // attempts, where a rate is kept
	Sales       []int         `json:"sales"`        // sizes, ascending
	Gateways    []int         `json:"gateways"`     // sizes, ascending
	Workers     []int         `json:"workers"`      // sizes, ascending
	Users       []int         `json:"users"`        // sizes, ascending
	Backlog     int           `json:"backlog"`      // reservations that workers order
	BacklogOver int           `json:"backlog_over"` // sales of the backlog: transactions of one sale follow each other
}

// Full is the configuration whose figures mean something.
func Full(rounds int) Config {
	return Config{Rounds: rounds, Stage: 2 * time.Second, Connections: 512, PerSecond: 3000,
		Sales: []int{1, 10, 100}, Gateways: []int{1, 2, 4}, Workers: []int{1, 2, 4}, Users: []int{1000, 10_000, 100_000, 1_000_000},
		Backlog: 40_000, BacklogOver: 8}
}

// Quick is a configuration that only shows that everything still runs.
func Quick() Config {
	return Config{Rounds: 1, Stage: 300 * time.Millisecond, Connections: 16, PerSecond: 200,
		Sales: []int{1}, Gateways: []int{1, 4}, Workers: []int{1}, Users: []int{300}, Backlog: 1200, BacklogOver: 4}
}

// Site is where a run finds its programs and leaves what it wrote.
type Site struct {
	Out string // a directory for every stack is made in it
	Bin string
	Log *slog.Logger
}

// run is one run.
type run struct {
	Config
	Site
	out      io.Writer
	rounds   []figures
	unwanted int      // answers other than 202
	leftOut  []string // what was, and why
	rep      report.Report
}

// figures of one round, by name.
type figures map[string]float64

// Run measures everything and reports it. It says on out how far it is. What fails, or is
// interrupted, fails the verdict and leaves what was measured before.
func Run(ctx context.Context, c Config, site Site, out io.Writer) (report.Report, error) {
	r := &run{Config: c, Site: site, out: out, rep: report.Report{Machine: report.ThisMachine()}}
	r.rep.Verdict.Pass = true
	for n := range c.Rounds {
		f := make(figures)
		r.rounds = append(r.rounds, f)
		for _, s := range c.settings() {
			if err := r.take(ctx, s, n, f); err != nil {
				r.rep.Fail("scenario", "growth, round %d: %s: %v", n+1, s.name(), err)
				r.conclude()
				return r.rep, nil
			}
		}
	}
	r.conclude()
	return r.rep, nil
}

// settings are the stacks of a round.
func (c Config) settings() []setting {
	var all []setting
	for _, n := range c.Sales {
		all = append(all, setting{over: overSales, size: n, sales: n, gateways: 1, workers: 1})
	}
	for _, n := range c.Gateways {
		if n > 1 { // one is what one sale has
			all = append(all, setting{over: overGateways, size: n, sales: 1, gateways: n, workers: 1})
		}
	}
	for _, n := range c.Workers {
		all = append(all, setting{over: overWorkers, size: n, sales: c.BacklogOver, gateways: 1, workers: n})
	}
	for _, n := range c.Users { // a sale for each measurement that has to begin with so many
		all = append(all, setting{over: overUsers, size: n, sales: 2, gateways: 1, workers: 1, users: n})
	}
	return all
}

func (r *run) say(format string, args ...any) {
	// A progress line that cannot be printed is no reason to stop.
	_, _ = fmt.Fprintf(r.out, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
