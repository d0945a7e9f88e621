package calibrate

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"sluice/loadtest/internal/campaign"
	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/report"
	"sluice/loadtest/internal/stack"
)

// Target is the stack that is calibrated, and what its limits are tried out on.
type Target struct {
	Stack   stack.Info
	OpensAt map[string]time.Time // by sale; those that are missing count as open
	Running bool                 // Stack is not the tool's own
	Program string               // path of loadtest, whose children send
	// Stop stops Stack, if that is to be, once the attacks on it have ended: what its
	// limits are tried out on has the machine for itself.
	Stop func() error
	// Start starts another stack with the same sales and number of gateways, which have
	// extra environment.
	Start func(ctx context.Context, gatewayEnv []string) (stack.Info, func() error, error)
}

// run is one calibration.
type run struct {
	Config
	Target
	out io.Writer

	tries     []Try
	found     Found
	capacity  Capacity
	limits    *Limits
	floods    []Confirmed // that tried the limits out, in order
	confirmed *Confirmed  // the last of them, if two agreed
	used      used
	orders    report.Orders // of the mix's sales, once the attacks on Stack have ended
	bound     []string      // of the stack's own admission, in words
	ended     string        // why it ended before its end; "" when it did not
	broken    bool          // it did so by a fault, and not because it was told to
}

// Run calibrates. It says on out how far it is. When ctx ends it concludes from what is
// known by then.
func Run(ctx context.Context, c Config, t Target, out io.Writer) (Result, error) {
	if err := c.Check(); err != nil {
		return Result{}, err
	}
	r := &run{Config: c, Target: t, out: out}
	if err := r.readBounds(ctx); err != nil {
		return Result{}, err
	}
	if err := r.search(ctx); err != nil {
		if len(r.tries) == 0 {
			return Result{}, err
		}
		r.breaks(err)
	}
	r.conclude()
	var err error
	if r.orders, err = countOrders(context.WithoutCancel(ctx), t.Stack.Postgres.URL, c.Mix); err != nil {
		r.breaks(err)
	}
	if err := t.Stop(); err != nil {
		r.breaks(err)
	}
	if r.limits != nil && c.Confirm && ctx.Err() == nil && r.ended == "" {
		if r.confirmed, err = r.confirm(ctx, *r.limits); err != nil {
			r.breaks(err)
		}
	}
	if ctx.Err() != nil {
		r.ended, r.broken = strings.TrimSuffix("it was told to end; "+r.ended, "; "), false
	}
	return r.result(), nil
}

// breaks notes a fault, which is no reason to forget what is known.
func (r *run) breaks(err error) {
	if r.ended != "" {
		r.ended += "; "
	}
	r.ended, r.broken = r.ended+err.Error(), true
}

func (r *run) site(info stack.Info) *site {
	s := &site{config: r.Config, stack: info}
	s.target = campaign.Target{Stack: info, OpensAt: r.OpensAt, Program: r.Program, Started: func(pids []int) { s.senders.Store(&pids) }}
	return s
}

// readBounds finds out whether gateways are limited already: then what is found may be
// their limits and not what the stack bears.
func (r *run) readBounds(ctx context.Context) error {
	for i, g := range r.Stack.Gateways {
		said, err := collect.ReadGateway(ctx, g.OpsURL)
		if err != nil {
			return fmt.Errorf("cannot ask gateway %d for its limits: %w", i, err)
		}
		for _, bound := range []struct {
			flag      string
			perSecond float64
		}{{"-admit-rate", said.AllSales}, {"-admit-sale-rate", said.OneSale}} {
			if bound.perSecond > 0 {
				r.bound = append(r.bound, fmt.Sprintf("Gateway %d is limited already, %s %s: attempts beyond that are refused by the limit, so what is found is the limit, or less, and not what the stack bears.", i, bound.flag, typed(bound.perSecond)))
			}
		}
	}
	for _, line := range r.bound {
		r.say("%s", line)
	}
	return nil
}

// search tries one rate after the other until the search ends, or ctx does.
func (r *run) search(ctx context.Context) error {
	r.say("in-stock attempts are to be answered within %s, 99 of 100; each rate is tried for %s until two tries agree", r.P99, r.Lasts)
	s, at := NewSearch(r.Range), r.site(r.Stack)
	defer func() { r.found = s.Found() }()
	for perSecond, more := s.Next(); more; perSecond, more = s.Next() {
		t, o, complete, err := r.try(ctx, at, perSecond)
		if err != nil || !complete {
			return err
		}
		if t.Judged, err = Judge(o, float64(r.P99.Milliseconds())); err != nil {
			return err
		}
		t.unsure()
		t.Decided = s.Tried(t.Verdict)
		r.tries = append(r.tries, t)
		r.say("%s", t.line())
		if err := at.rest(ctx); err != nil {
			return err
		}
	}
	return nil
}

// try attacks once, and counts what processes take meanwhile.
func (r *run) try(ctx context.Context, at *site, perSecond float64) (t Try, o Observed, complete bool, err error) {
	at.senders.Store(nil)
	watcher, err := collect.Watch(context.WithoutCancel(ctx), collect.Watched{Stack: func() stack.Info { return r.Stack }, Tools: at.tools})
	if err != nil {
		return t, o, false, err
	}
	began, first := time.Now(), at.next
	defer func() {
		r.used.add(watcher.Stop(context.WithoutCancel(ctx), 0).Processes, time.Since(began), at.next-first)
	}()
	return at.attack(ctx, perSecond, r.Lasts)
}

// conclude derives the limits from the tries, if any rate passed.
func (r *run) conclude() {
	r.capacity = Capacity{Gateways: len(r.Stack.Gateways), Target: r.P99}
	if r.found.Pass == 0 {
		return
	}
	r.capacity.Admission, r.capacity.OneSale = math.Inf(1), math.Inf(1)
	for _, t := range r.passed(r.found.Pass) {
		r.capacity.Admission = min(r.capacity.Admission, t.Admission)
		r.capacity.OneSale = min(r.capacity.OneSale, t.OneSale)
	}
	calm := 0.0
	for _, t := range r.tries {
		if t.Verdict == Passes && t.PerSecond <= Part*r.found.Pass && t.PerSecond >= calm {
			if t.PerSecond > calm {
				calm, r.capacity.Calm = t.PerSecond, 0
			}
			r.capacity.Calm = max(r.capacity.Calm, seconds(t.P99/1000))
		}
	}
	l := Recommend(r.capacity)
	l.LowerBound = lowerBound(r.found, r.capacity)
	if r.bound != nil {
		l.LowerBound = append(l.LowerBound, "the gateways were limited already")
	}
	r.limits = &l
}

// passed are the tries of a rate that passed.
func (r *run) passed(perSecond float64) (tries []Try) {
	for _, t := range r.tries {
		if t.PerSecond == perSecond && t.Verdict == Passes {
			tries = append(tries, t)
		}
	}
	return tries
}

// unsure keeps a try that is unclear from saying that nothing was the limit.
func (t *Try) unsure() {
	if t.Verdict == Unclear && t.Limit == string(campaign.LimitNone) {
		t.Limit, t.Words = string(campaign.LimitUnknown), "What the limit was is unclear: "+t.Why+"."
	}
}

func (t Try) line() string {
	return fmt.Sprintf("%8s/s  p99 %9s  limit: %-11s  %s %s%s", count(t.PerSecond), ms(t.P99), t.Limit, t.Verdict, t.Why, t.decision())
}

func (t Try) decision() string {
	if t.Decided == Unknown {
		return ""
	}
	return "  decided: " + string(t.Decided)
}

// ms writes milliseconds.
func ms(v float64) string {
	if v == 0 {
		return "none"
	}
	return fmt.Sprintf("%.1f ms", v)
}

func (r *run) say(format string, args ...any) {
	// A progress line that cannot be printed is no reason to stop.
	_, _ = fmt.Fprintf(r.out, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
