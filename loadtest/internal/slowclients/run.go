package slowclients

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"sluice/loadtest/internal/report"
	"sluice/loadtest/internal/stack"
	"sluice/loadtest/internal/wait"
)

// Target is what is measured.
type Target struct {
	Stack   stack.Info
	Clients string // path of the program that is the slow clients when told ClientsCommand
}

// run is one measurement.
type run struct {
	Config
	Target
	out    io.Writer
	honest *honest
	rounds []map[string]float64
	rep    report.Report
}

// scene is what goes on beside the honest clients; its name begins its figures.
type scene struct {
	name      string
	addresses int // of the slow clients; 0 is none of them
}

const quiet, many, one = "quiet", "many_addresses", "one_address"

// Run measures all rounds and judges them. It says on out how far it is.
func Run(ctx context.Context, c Config, t Target, out io.Writer) (report.Report, error) {
	r := &run{Config: c, Target: t, out: out, honest: &honest{Config: c, url: t.Stack.Gateways[0].URL, secrets: t.Stack.Secrets}}
	r.rep.Verdict.Pass = true
	_ = r.honest.run(ctx) // what is first is slower: caches, connections, code
	for n := range c.Rounds {
		f := map[string]float64{}
		r.rounds = append(r.rounds, f)
		for _, s := range []scene{{quiet, 0}, {many, c.Addresses}, {one, 1}} {
			if err := r.measure(ctx, s, f); err != nil {
				return r.rep, fmt.Errorf("round %d, %s: %w", n+1, s.name, err)
			}
		}
		for _, s := range []string{many, one} {
			f[s+"_p99_vs_quiet"] = f[s+"_p99_ms"] / f[quiet+"_p99_ms"]
			f[s+"_new_p99_vs_quiet"] = f[s+"_new_p99_ms"] / f[quiet+"_new_p99_ms"]
		}
	}
	r.judge()
	r.rep.Machine = report.ThisMachine()
	r.rep.Config = map[string]any{"slow": c, "rounds": r.rounds, "notes": notes}
	return r.rep, ctx.Err()
}

// measure takes the figures of one scene.
func (r *run) measure(ctx context.Context, s scene, f map[string]float64) (err error) {
	var seen Tally
	if s.addresses > 0 {
		gateway, err := url.Parse(r.Stack.Gateways[0].URL)
		if err != nil {
			return fmt.Errorf("cannot read url: %w", err)
		}
		slow, err := Start(r.Clients, Attack{Address: gateway.Host, Sale: saleID, Connections: r.Connections, Addresses: s.addresses, Within: min(cycle, r.Stage/2)})
		if err != nil {
			return err
		}
		defer func() {
			var stopped error
			seen, stopped = slow.Stop()
			err = errors.Join(err, stopped)
			r.tell(s, f, seen)
		}()
		wait.For(ctx, r.settle())
	}
	got := r.honest.run(ctx)
	f[s.name+"_p99_ms"], f[s.name+"_new_p99_ms"] = got.kept.P99, got.fresh.P99
	f[s.name+"_served"] = float64(got.served)
	for what, n := range got.other {
		f[s.name+"_answered_"+what] = float64(n)
		r.rep.Fail("I12", "%s: honest clients were answered %s %d times, 202 %d times", s.name, what, n, got.served)
	}
	if s.addresses == 0 {
		r.tell(s, f, seen)
	}
	return r.gatewayFigures(ctx, s, f)
}

// settle is how long slow clients are left alone before a stage, in which some of
// them are cut then.
func (r *run) settle() time.Duration { return max(time.Second, cycle-r.Stage/2) }

func (r *run) tell(s scene, f map[string]float64, seen Tally) {
	f[s.name+"_slow_at_a_time"] = float64(seen.Most)
	for how, n := range seen.Ends {
		f[s.name+"_slow_"+how] = float64(n)
	}
	// A progress line that cannot be printed is no reason to stop.
	_, _ = fmt.Fprintf(r.out, "%s  %-15s p99 %7.2f ms, over new connections %7.2f ms; slow: %d at a time, ended by %v\n",
		time.Now().Format(time.TimeOnly), s.name, f[s.name+"_p99_ms"], f[s.name+"_new_p99_ms"], seen.Most, seen.Ends)
}
