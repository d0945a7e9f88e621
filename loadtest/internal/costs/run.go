package costs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"sluice/loadtest/internal/report"
)

// lookAgain is between two attempts on a sale that is about to sell out.
const lookAgain = 20 * time.Millisecond

// run is one run.
type run struct {
	Config
	Site
	out    io.Writer
	rounds []figures
	rep    report.Report
}

// figures of one round, by name.
type figures map[string]float64

func figureOf(of, name string) string { return of + "_" + name }

// sized is the name of what was measured with so many gateways and workers.
func sized(size int, name string) string { return fmt.Sprintf("%dx_%s", size, name) }

// Run measures, fits, predicts and answers. It says on out how far it is. What fails, or is
// interrupted, fails the verdict and leaves what was measured before.
func Run(ctx context.Context, c Config, site Site, out io.Writer) report.Report {
	r := &run{Config: c, Site: site, out: out, rep: report.Report{Machine: report.ThisMachine()}}
	r.rep.Verdict.Pass = true
	for n := range c.Rounds {
		f := make(figures)
		r.rounds = append(r.rounds, f)
		for _, size := range append([]int{1}, c.Sizes...) {
			if err := r.take(ctx, size, n, f); err != nil {
				r.rep.Fail("scenario", "round %d, %d gateways and workers: %v", n+1, size, err)
				r.conclude()
				return r.rep
			}
		}
	}
	r.conclude()
	return r.rep
}

// take starts a stack and measures it.
func (r *run) take(ctx context.Context, size, round int, f figures) (err error) {
	t, err := r.open(ctx, size, fmt.Sprintf("%d-of-each-%d", size, round+1))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	into := make(figures)
	defer func() {
		for name, value := range into {
			f[sized(size, name)] = value
		}
	}()
	connections := []int{r.Connections}
	if size == 1 {
		if err := t.operations(ctx, into); err != nil {
			return err
		}
		connections = []int{r.Connections, r.Connections / 2, r.Connections / 4}
	}
	for _, n := range connections {
		if err := t.rush(ctx, into, n); err != nil {
			return err
		}
	}
	return errors.Join(t.refusals(ctx, into), t.judge(ctx))
}

func (r *run) say(format string, args ...any) {
	// A progress line that cannot be printed is no reason to stop.
	_, _ = fmt.Fprintf(r.out, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
