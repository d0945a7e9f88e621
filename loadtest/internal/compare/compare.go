package compare

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"
	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/loop"
	"sluice/loadtest/internal/record"
	"sluice/loadtest/internal/report"
	"sluice/loadtest/internal/stack"
	"sluice/shared/sale"
)

// sluiceName begins Sluice's figures.
const sluiceName = "sluice"

// Target is the stack that Sluice is, and that baselines have the Postgres of.
type Target struct {
	Stack  stack.Info
	Stores *collect.Stores
	// Warmup runs a warmup command against the stack.
	Warmup func(ctx context.Context, args ...string) error
	Dir    string // gets sales files
	// Program serves an instance of a baseline when told InstanceCommand.
	Program string
}

// run is one comparison.
type run struct {
	Config
	Target
	out       io.Writer
	db        *pgx.Conn
	tokens    loop.Buyers // by claimer
	latencies record.Latencies
	rounds    []figures
	sides     []side
	winners   map[string]*record.Winners // by sale of Sluice, for the audit
	order     []string                   // of the sales
	tickets   []sale.Ticket
	limits    []string // where the tool was one, and what else is to be noted
	trouble   []string // that is no fault of what was sold
	shown     []shown
	audited   map[string]*audited // by part
	resume    func() error        // nil while Sluice's processes run
	data      []string            // sizes of tables
	rep       report.Report
}

// figures of one round, by name. A name ends with its unit.
type figures map[string]float64

// Run compares all rounds, takes the claims' latencies, audits and judges. It says on
// out how far it is.
func Run(ctx context.Context, c Config, t Target, out io.Writer) (res Result, err error) {
	r := &run{Config: c, Target: t, out: out, winners: make(map[string]*record.Winners), audited: make(map[string]*audited)}
	r.rep.Verdict.Pass = true
	if err := c.room(); err != nil {
		return res, err
	}
	if r.tokens, err = loop.MintBuyers(t.Stack.Secrets, c.mostUsers()); err != nil {
		return res, err
	}
	if err := r.connect(ctx); err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	done := r.all(ctx)
	if len(r.rounds) == 0 {
		return res, done
	}
	// Rounds that are over are worth their report, whatever became of the one after.
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if done != nil {
		r.rep.Fail("scenario", "ended before all was done: %v", done)
	}
	if err := r.audit(ending); err != nil {
		r.rep.Fail("scenario", "not all sales were audited: %v", err)
	}
	return r.result(ending)
}

// endTimeout bounds the audit of all sales and the report.
const endTimeout = 5 * time.Minute

// all runs the parts. What it did not come to is no part of the configuration any more.
func (r *run) all(ctx context.Context) error {
	asked := r.Config
	r.Rounds, r.Claims.Rounds, r.Sale.Rounds = 0, 0, 0
	if err := r.warmUp(ctx); err != nil {
		return fmt.Errorf("warm-up: %w", err)
	}
	if r.has(PartIncident) {
		if err := r.everyRound(ctx, asked.Rounds); err != nil {
			return err
		}
	}
	if r.has(PartClaims) {
		if err := r.everyStage(ctx, asked.Claims.Rounds); err != nil {
			return err
		}
	}
	if r.has(PartSale) {
		d := newDemand(r.Sale.Buyers, r.Sale.Each)
		for n := range asked.Sale.Rounds {
			if err := r.sellRound(ctx, d, n); err != nil {
				return err
			}
			r.Sale.Rounds++
		}
	}
	return nil
}

// ran reports whether a round of a part was finished.
func (r *run) ran(part string) bool {
	return map[string]int{PartSale: r.Sale.Rounds, PartIncident: r.Rounds, PartClaims: r.Claims.Rounds}[part] > 0
}

// everyRound shows each system the same crowd, one after the other.
func (r *run) everyRound(ctx context.Context, rounds int) error {
	for n := range rounds {
		f := make(figures)
		for _, b := range ofCoupons() {
			if err := r.baseline(ctx, b, n, f); err != nil {
				return fmt.Errorf("round %d, %s: %w", n+1, b.Name(), err)
			}
		}
		if err := r.sluice(ctx, n, f); err != nil {
			return fmt.Errorf("round %d, %s: %w", n+1, sluiceName, err)
		}
		r.rounds = append(r.rounds, f)
		r.Rounds++
	}
	return nil
}

func (r *run) connect(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, clickTimeout)
	defer cancel()
	if r.db, err = pgx.Connect(ctx, r.Stack.Postgres.URL); err != nil {
		return fmt.Errorf("cannot connect to postgres: %w", err)
	}
	return nil
}

func (r *run) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), clickTimeout)
	defer cancel()
	if err := r.db.Close(ctx); err != nil {
		return fmt.Errorf("cannot close connection to postgres: %w", err)
	}
	return nil
}

func (r *run) say(format string, args ...any) {
	// A progress line that cannot be printed is no reason to stop.
	_, _ = fmt.Fprintf(r.out, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
