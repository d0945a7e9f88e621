// Package bench measures what Sluice does in a second, beside what it could do at
// best on the same machine at the same moment, and beside what it would do without
// what it is made of: reserve calls of one attempt, transactions of one order.
//
//	round 1: empty · refusal · accept · one by one · … · orders
//	round 2: empty · refusal · accept · one by one · … · orders
//	…
//	at the end: polling
//
// A machine changes its speed by a factor of two within minutes. So figures are
// taken in interleaved rounds, each ratio is of two figures of one round, and what
// is reported is the median of the rounds with the extremes. Nothing is judged but
// that every reservation answered 202 has its order.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"
	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/record"
	"sluice/loadtest/internal/report"
	"sluice/loadtest/internal/stack"
)

// Target is what a bench measures.
type Target struct {
	Stack  stack.Info // with two gateways, the second started with OneByOne, and one worker
	Stores *collect.Stores
	Empty  string // path of the program that serves an empty handler when told EmptyCommand
}

// bench is one run.
type bench struct {
	Config
	Target
	out       io.Writer
	buyers    buyers
	worker    *stack.Halter
	server    *emptyServer
	db        *pgx.Conn
	epochs    map[string]int64 // by sale
	accepted  map[string]int   // 202 answers by sale
	latencies record.Latencies
	rounds    []figures
	unwanted  map[string]int // answers that were not the wanted ones, by measurement
	rep       report.Report
}

// scenario takes the figures of one kind in one round.
type scenario func(ctx context.Context, round int, f figures) error

// Run takes all figures and reports them. It says on out how far it is.
func Run(ctx context.Context, c Config, t Target, out io.Writer) (res Result, err error) {
	b := &bench{Config: c, Target: t, out: out, worker: &stack.Halter{PID: t.Stack.Workers[0].PID},
		epochs: make(map[string]int64), accepted: make(map[string]int), unwanted: make(map[string]int)}
	b.rep.Verdict.Pass = true
	if err := b.prepare(ctx); err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, b.end()) }()
	for n := range c.Rounds {
		if err := b.round(ctx, n); err != nil {
			return res, fmt.Errorf("round %d: %w", n+1, err)
		}
	}
	if b.Only == "" {
		if err := b.polling(ctx); err != nil {
			return res, fmt.Errorf("polling: %w", err)
		}
	}
	return b.result(ctx)
}

// prepare makes what every round needs.
func (b *bench) prepare(ctx context.Context) (err error) {
	if b.buyers, err = mintBuyers(b.Stack.Secrets, b.mostBuyers()); err != nil {
		return err
	}
	if err = b.openDB(ctx); err != nil {
		return err
	}
	if err = b.rows().MakeCopy(ctx); err == nil {
		err = b.sellOut(ctx)
	}
	if err == nil {
		b.server, err = startEmpty(b.Empty)
	}
	if err != nil {
		return errors.Join(err, b.closeDB())
	}
	return nil
}

// end leaves nothing halted or running.
func (b *bench) end() error {
	return errors.Join(b.worker.Resume(), b.server.stop(), b.closeDB())
}

func (b *bench) openDB(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if b.db, err = pgx.Connect(ctx, b.Stack.Postgres.URL); err != nil {
		return fmt.Errorf("cannot connect to postgres: %w", err)
	}
	return nil
}

func (b *bench) closeDB() error {
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	if err := b.db.Close(ctx); err != nil {
		return fmt.Errorf("cannot close connection to postgres: %w", err)
	}
	return nil
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

func (b *bench) scenarios() []scenario {
	if b.Only == ordersName {
		return []scenario{b.orders}
	}
	return []scenario{
		b.empty(b.many()), b.refusal, b.accept(b.many()), b.oneByOne(b.many()),
		b.empty(b.few()), b.accept(b.few()), b.oneByOne(b.few()),
		b.halfRate,
		b.catchUp, b.acceptRunning(b.many()), b.acceptRunning(b.few()),
		b.catchUp, b.orders,
	}
}

func (b *bench) say(format string, args ...any) {
	// A progress line that cannot be printed is no reason to stop.
	_, _ = fmt.Fprintf(b.out, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
