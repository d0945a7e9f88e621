// Package pace measures whether the workers' pace is right: whether they find the pace
// that the database bears when it changes, at little cost in throughput, share it, and
// keep one sale's flood or fault from another.
//
//	round 1: throttle · latency · shares · drain · fair · stuck
//	round 2: throttle · latency · shares · drain · fair · stuck
//	…
//
// Every scenario has a stack of its own, of real processes, whose workers reach Postgres
// through a proxy, and ends in the audit of its sales. What a pace is held against, such
// as the best of fixed settings, is measured in the same round. What is promised is
// judged by the median of the rounds.
package pace

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"sluice/loadtest/internal/report"
)

// Site is where a run finds its programs and leaves what it wrote.
type Site struct {
	Out string // a directory for every scenario and round is made in it
	Bin string
	Log *slog.Logger
}

// run is one run.
type run struct {
	Config
	Site
	out    io.Writer
	round  int
	rounds []figures
	paces  []report.Pace
	rep    report.Report
}

// figures of one round, by name.
type figures map[string]float64

// ratio notes one figure over another; nothing when that is none: such a report could not
// be written, and what it would say is that nothing was to be compared.
func (f figures) ratio(name string, of, over float64) {
	if over > 0 {
		f[name] = of / over
	}
}

// scenario takes the figures of one kind in one round.
type scenario struct {
	name string
	take func(*run, context.Context, figures) error
}

var scenarios = []scenario{
	{"throttle", (*run).throttle},
	{"latency", (*run).latency},
	{"shares", (*run).shares},
	{"drain", (*run).drain},
	{"fair", (*run).fair},
	{"stuck", (*run).stuck},
}

// Run takes all figures and reports them. It says on out how far it is.
func Run(ctx context.Context, c Config, site Site, out io.Writer) (report.Report, error) {
	r := &run{Config: c, Site: site, out: out}
	r.rep.Verdict.Pass = true
	for r.round = range c.Rounds {
		f := make(figures)
		r.rounds = append(r.rounds, f)
		for _, s := range scenarios {
			if !c.has(s.name) {
				continue
			}
			if err := s.take(r, ctx, f); err != nil {
				return r.rep, fmt.Errorf("round %d, %s: %w", r.round+1, s.name, err)
			}
		}
	}
	r.judge()
	return r.rep, nil
}

// judge puts the figures together and holds them against what is promised. Only what is
// beyond all tolerance is a violation: the machine may have other things to do.
func (r *run) judge() {
	all := report.Spreads(r.rounds)
	r.rep.Ratios, r.rep.Paces, r.rep.Machine = all, r.paces, report.ThisMachine()
	for _, p := range promises {
		if !r.has(p.scenario) {
			continue
		}
		judged := report.Promise{Name: p.figure, Text: p.text, AtLeast: p.atLeast, Bound: p.bound}
		if found, ok := all[p.figure]; ok {
			judged = judged.Judge(found.Median)
		} else if r.skipped(p.figure) {
			continue
		}
		r.rep.Promises = append(r.rep.Promises, judged)
		if !judged.Tolerated {
			r.rep.Fail("pace", "%s: %s", judged.Text, judged.Found())
		}
	}
	r.rep.Say(report.Found{Rounds: r.Rounds})
	r.rep.Leave(report.Setup{Rounds: r.Rounds, Gateways: 1, Workers: 1})
	r.rep.NotMeasured = append(r.rep.NotMeasured, "The way to the stream: reservations were made and handed over by the tool, as a gateway does, without HTTP, tokens or admission.")
	r.rep.Config = map[string]any{"pace": r.Config, "rounds": r.rounds, "notes": notes}
}

func (r *run) say(format string, args ...any) {
	// A progress line that cannot be printed is no reason to stop.
	_, _ = fmt.Fprintf(r.out, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
