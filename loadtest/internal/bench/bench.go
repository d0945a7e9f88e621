// Package bench measures what Sluice does in a second, beside what it could do at
// best on the same machine at the same moment, and beside what it would do without
// what it is made of: reserve calls of one attempt, transactions of one order.
//
//	round 1: empty · refusal · accept · one by one · … · orders · quotes
//	round 2: empty · refusal · accept · one by one · … · orders · quotes
//	…
//	at the end: polling
//
// A machine changes its speed by a factor of two within minutes. So figures are
// taken in interleaved rounds, each ratio is of two figures of one round, and what
// is reported is the median of the rounds with the extremes. Nothing is judged but
// that the orders are those of the answers: none lost, doubled or unasked for.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/loop"
	"sluice/loadtest/internal/orderrows"
	"sluice/loadtest/internal/record"
	"sluice/loadtest/internal/report"
	"sluice/loadtest/internal/stack"
)

// Target is what a bench measures.
type Target struct {
	Stack  stack.Info // with two gateways, the second started with OneByOne, and one worker
	Stores *collect.Stores
	Empty  string // path of the program that serves an empty handler when told EmptyCommand

	Profiles string // directory that gets the profiles
}

// bench is one run.
type bench struct {
	Config
	Target
	out       io.Writer
	buyers    loop.Buyers
	worker    *stack.Halter
	server    *emptyServer
	rows      orderrows.Table
	answers   map[string]orderrows.Answers // by sale, until they are judged
	bounded   map[string]bool              // ratios that it is said of what bounds them
	latencies record.Latencies
	rounds    []figures
	watched   *watched       // measurement to profile, if any
	unwanted  map[string]int // answers that were not the wanted ones, by measurement
	rep       report.Report
}

// scenario takes the figures of one kind in one round.
type scenario func(ctx context.Context, round int, f figures) error

// Run takes all figures and reports them. It says on out how far it is. What fails, or is
// interrupted, fails the verdict and leaves what was measured before.
func Run(ctx context.Context, c Config, t Target, out io.Writer) (res Result, err error) {
	b := &bench{Config: c, Target: t, out: out, worker: &stack.Halter{PID: t.Stack.Workers[0].PID},
		answers: make(map[string]orderrows.Answers), bounded: make(map[string]bool), unwanted: make(map[string]int)}
	b.rep.Verdict.Pass = true
	if err := b.prepare(ctx); err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, b.end()) }()
	if err := b.all(ctx); err != nil {
		b.rep.Fail("scenario", "%v", err)
	}
	return b.result(context.WithoutCancel(ctx), b.measuredRatios()), nil
}

// all takes the figures, and those of what missed its target once more.
func (b *bench) all(ctx context.Context) error {
	for n := range b.Rounds {
		if err := b.round(ctx, n); err != nil {
			return fmt.Errorf("round %d: %w", n+1, err)
		}
	}
	if b.Takes(PartPolling) {
		if err := b.polling(ctx); err != nil {
			return fmt.Errorf("polling: %w", err)
		}
	}
	return b.bounds(ctx, b.measuredRatios())
}

// prepare makes what every round needs.
func (b *bench) prepare(ctx context.Context) (err error) {
	if b.buyers, err = loop.MintBuyers(b.Stack.Secrets, b.mostBuyers()); err != nil {
		return err
	}
	if b.rows, err = orderrows.Open(ctx, b.Stack.Postgres.URL); err != nil {
		return err
	}
	if err = b.rows.MakeCopy(ctx); err == nil {
		err = b.sellOut(ctx)
	}
	if err == nil {
		b.server, err = startEmpty(b.Empty)
	}
	if err != nil {
		return errors.Join(err, b.rows.Close())
	}
	return nil
}

// end leaves nothing halted or running.
func (b *bench) end() error {
	return errors.Join(b.worker.Resume(), b.server.stop(), b.rows.Close())
}

// round takes one figure after the other; those of a ratio follow each other.
func (b *bench) round(ctx context.Context, n int) error {
	f := make(figures)
	b.rounds = append(b.rounds, f)
	if err := b.worker.Halt(ctx); err != nil {
		return err
	}
	for _, s := range b.scenarios() {
		if err := s(ctx, n, f); err != nil {
			return err
		}
	}
	return nil
}

// scenarios are those of the parts to be measured. What the ratios of one part compare
// follows each other, and so do the parts that share a figure of the empty handler.
func (b *bench) scenarios() []scenario {
	refusal, accept := b.Takes(PartRefusal), b.Takes(PartAccept)
	var all []scenario
	add := func(takes bool, more ...scenario) {
		if takes {
			all = append(all, more...)
		}
	}
	add(refusal || accept, b.empty(b.many()))
	add(refusal, b.refusal)
	add(accept, b.accept(b.many()), b.oneByOne(b.many()), b.empty(b.few()), b.accept(b.few()), b.oneByOne(b.few()))
	add(refusal, b.halfRate)
	add(accept, b.catchUp, b.acceptRunning(b.many()), b.acceptRunning(b.few()))
	add(b.Takes(PartOrders), b.catchUp, b.orders)
	add(b.Takes(PartQuotes), b.quotes)
	return all
}

func (b *bench) say(format string, args ...any) {
	// A progress line that cannot be printed is no reason to stop.
	_, _ = fmt.Fprintf(b.out, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
