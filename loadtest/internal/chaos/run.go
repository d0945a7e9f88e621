package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/mutants"
	"sluice/loadtest/internal/report"
	"sluice/loadtest/internal/stack"
	"sluice/shared/devstack"
	"sluice/shared/sale"
)

// Config of a run.
type Config struct {
	Rows   []Row
	Seeds  []uint64 // each row once with each
	OutDir string   // gets sales files, and the logs of each stack in a directory of its own
	BinDir string
	Src    string // root of the sources, for rows that build other programs from them
	Log    *slog.Logger

	Mutation string        // of package mutants: all rows are run without this protection, whatever they need
	Patience time.Duration // for what is to come to an end after a round; 60 s if zero
}

const (
	gateways        = 2
	workers         = 2
	clusterGateways = 4
	clusterWorkers  = 4

	roundWithin = 6 * time.Minute // until nothing is broken any more, and the sale goes on
	judgeWithin = 5 * time.Minute // from then on
)

// ErrInterrupted is wrapped by errors of runs that were told to end before every round was
// judged.
var ErrInterrupted = errors.New("interrupted")

// Run breaks what the rows break, and returns what each round came to. Rows with the same
// needs share a stack, for one seed: every round leaves a sale behind, and what a worker does
// for all sales takes the longer the more there are. It says on out how far it is. When ctx
// ends, what is left is returned as interrupted, and the error wraps ErrInterrupted.
func Run(ctx context.Context, c Config, out io.Writer) (all []report.Fault, err error) {
	if err := roomForFiles(c.Rows); err != nil {
		return nil, err
	}
	if c.Mutation != "" {
		c.Rows = slices.Clone(c.Rows)
		for i := range c.Rows {
			c.Rows[i].Stack.Mutation = c.Mutation
		}
	}
	for _, row := range c.Rows {
		if row.Stack.Mutation == "" {
			continue
		}
		if err := mutants.Check(c.Src, row.Stack.Mutation); err != nil {
			return nil, err
		}
	}
	var ended error // of stacks, which is told of an interrupted run too
	stacks, sharing := byNeeds(c.Rows)
	for i, needs := range stacks {
		for _, seed := range c.Seeds {
			found, err := c.onOneStack(ctx, needs, sharing[needs], seed, filepath.Join(c.OutDir, fmt.Sprintf("stack-%d-seed-%d", i, seed)), out)
			all = append(all, found...)
			if err != nil && ctx.Err() == nil {
				return all, err
			}
			ended = errors.Join(ended, err)
		}
	}
	return all, errors.Join(interruption(all), ended)
}

// interruption is an error that wraps ErrInterrupted if any round is unfinished.
func interruption(all []report.Fault) error {
	left := 0
	for _, f := range all {
		if f.Interrupted {
			left++
		}
	}
	if left == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d of %d rounds are not judged, or not run", ErrInterrupted, left, len(all))
}

// byNeeds are the stacks that rows need, in the order in which they are first asked for, and
// the rows that share each.
func byNeeds(rows []Row) (stacks []Needs, sharing map[Needs][]Row) {
	sharing = make(map[Needs][]Row)
	for _, row := range rows {
		if _, known := sharing[row.Stack]; !known {
			stacks = append(stacks, row.Stack)
		}
		sharing[row.Stack] = append(sharing[row.Stack], row)
	}
	return stacks, sharing
}

// onOneStack runs rows that may share a stack, whose files go to dir, with one seed.
func (c Config) onOneStack(ctx context.Context, needs Needs, rows []Row, seed uint64, dir string, out io.Writer) (all []report.Fault, err error) {
	if ctx.Err() != nil {
		return neverBegun(rows, seed), nil
	}
	d, err := mountDisks(needs.Disk, dir)
	if errors.Is(err, devstack.ErrNoDisk) {
		return notRun(rows, seed, err, out), nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	s, err := c.start(ctx, needs, d.store, dir)
	if err != nil && ctx.Err() != nil {
		return neverBegun(rows, seed), nil // and all that was started is gone again
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close(), os.RemoveAll(ownPrograms(dir))) }()
	info := s.Info()
	stores, err := collect.Open(ctx, collect.URLs{Redis: info.Redis.URL, NATS: info.NATS.URL, Postgres: info.Postgres.URL}, c.Log)
	if err != nil && ctx.Err() != nil {
		return neverBegun(rows, seed), nil
	}
	if err != nil {
		return nil, err
	}
	defer stores.Close() // it only read
	c.Rows, c.Seeds = rows, []uint64{seed}
	return c.on(ctx, s, stores, d, dir, out), nil
}

// On breaks what the rows break, with each seed, on a stack that runs and is as they need it,
// whose files are in the directory of the run. It ends early as Run does.
func (c Config) On(ctx context.Context, s *stack.Stack, stores *collect.Stores, out io.Writer) ([]report.Fault, error) {
	all := c.on(ctx, s, stores, disks{}, c.OutDir, out)
	return all, interruption(all)
}

func (c Config) on(ctx context.Context, s *stack.Stack, stores *collect.Stores, d disks, dir string, out io.Writer) (all []report.Fault) {
	for _, seed := range c.Seeds {
		for i, row := range c.Rows {
			if ctx.Err() != nil {
				all = append(all, neverBegun(c.Rows[i:], seed)...)
				break
			}
			r := newRound(row, seed, s, stores, dir, cmp.Or(c.Patience, usualPatience))
			r.src, r.binDir, r.disks = c.Src, c.BinDir, d
			all = append(all, c.told(r.run(ctx), row, dir))
			progress(out, all)
		}
	}
	return all
}

// told is a round that failed, with how to run it again, beside its logs, and where they are.
func (c Config) told(f report.Fault, row Row, dir string) report.Fault {
	if f.Pass || f.Interrupted {
		return f
	}
	f.Logs = filepath.Join(dir, "logs")
	if c.Mutation != "" {
		return f
	}
	which := fmt.Sprintf("-only %s -seed %d -out %s", f.Row, f.Seed, filepath.Join(c.OutDir, fmt.Sprintf("row-%s-seed-%d", f.Row, f.Seed)))
	if row.Stack.Cluster {
		which = "-cluster " + which
	}
	f.Again = filepath.Join(c.BinDir, "loadtest") + " chaos " + which
	return f
}

// progress says what the last round came to. A line that cannot be printed is no reason to stop.
func progress(out io.Writer, all []report.Fault) {
	_, _ = fmt.Fprintf(out, "%s  %s\n", time.Now().Format(time.TimeOnly), all[len(all)-1].Line())
}

// start starts a stack with a sale that nobody is interested in: each round has its own.
func (c Config) start(ctx context.Context, needs Needs, store, dir string) (*stack.Stack, error) {
	sales := filepath.Join(dir, "sales.yaml")
	now := time.Now().UTC()
	text := fmt.Sprintf("sales:\n  - {id: idle, total: 1, price: 100, opens_at: %s, closes_at: %s}\n", now.Format(time.RFC3339), now.Add(time.Hour).Format(time.RFC3339))
	if err := os.WriteFile(sales, []byte(text), 0o644); err != nil {
		return nil, fmt.Errorf("cannot write sales file: %w", err)
	}
	bin, err := c.programs(ctx, needs.Mutation, dir)
	if err != nil {
		return nil, err
	}
	gatewayCount, workerCount := needs.fleet()
	config := stack.Config{Gateways: gatewayCount, Workers: workerCount, Cluster: needs.Cluster, SalesFile: sales, OutDir: dir, BinDir: bin, Log: c.Log,
		GatewaySettings: strings.Fields(needs.Gateways), WorkerSettings: needs.workerSettings(),
		Stores: devstack.Options{NATSSync: needs.NATSSync, NATSStore: store}}
	if needs.Proxied {
		config.Proxied = []string{"redis", "nats", "postgres"}
	}
	if needs.Apart {
		config.Apart = []string{"nats"}
	}
	if needs.Replica {
		config.RedisReplica, config.Stores.RedisArgs = true, replicaArgs
	}
	return stack.Start(ctx, config)
}

// replicaArgs have Redis refuse to write without a replica that follows, and send a new one
// everything at once. A replica that is merely slow counts for some seconds.
var replicaArgs = []string{"--min-replicas-to-write", "1", "--min-replicas-max-lag", "5", "--repl-diskless-sync-delay", "0"}

// run breaks and judges. Whatever goes wrong is a violation of the round, not an end of
// the others, unless all are told to end: then nobody knows what it would have come to.
func (r *Round) run(ctx context.Context) report.Fault {
	running, cancel := context.WithTimeout(ctx, roundWithin) // the load's too, which the judge ends
	defer cancel()
	r.whole = ctx
	if err := errors.Join(r.row.Run(running, r), r.disarm(context.WithoutCancel(ctx))); err != nil {
		r.fail(spoken(err), "%v", err)
	}
	if ctx.Err() != nil {
		return r.interrupted()
	}
	if r.load != nil {
		judging, cancel := context.WithTimeout(ctx, judgeWithin)
		defer cancel()
		if err := r.judge(judging); err != nil {
			r.fail("scenario", "cannot judge: %v", err)
		}
	}
	if ctx.Err() != nil {
		return r.interrupted()
	}
	return r.fault()
}

// interrupted ends the load of a round that is not judged.
func (r *Round) interrupted() report.Fault {
	if r.load != nil {
		r.load.end()
		r.load.buyers.Close()
	}
	f := unjudged(r)
	f.Invariants = []string{}
	return f
}

// neverBegun says of rounds that the run was told to end before them.
func neverBegun(rows []Row, seed uint64) (all []report.Fault) {
	for _, row := range rows {
		f := unjudged(newRound(row, seed, nil, nil, "", 0))
		f.NotRun = "interrupted"
		all = append(all, f)
	}
	return all
}

// unjudged is a round that has found nothing, nor passed: what a control must show neither.
func unjudged(r *Round) report.Fault {
	f := r.fault()
	f.Interrupted, f.Pass, f.InTime, f.Shown, f.Violations = true, false, false, nil, []sale.Violation{}
	return f
}

// fault is the round as the matrix has it.
func (r *Round) fault() report.Fault {
	shown, violations := r.row.told(r.found)
	f := report.Fault{
		Row: r.row.ID, Name: r.row.Name, Fault: r.row.Fault, Expect: r.row.Expect, Seed: r.seed, InjectedS: r.injected.Seconds(),
		Pauses: r.pauses, Hits: r.hits, HitBy: append([]string{}, r.said...), RecoveryS: r.recovery.Seconds(), BoundS: r.row.Bound.Seconds(), TookS: time.Since(r.began).Seconds(),
		Shows: r.row.kinds(), Shown: shown, Violations: append([]sale.Violation{}, violations...), Invariants: r.heldAgainst(), Pass: len(violations) == 0, InTime: r.recovery > 0 && r.recovery <= r.row.Bound,
	}
	if r.load != nil {
		f.Accepted, f.Unknown = r.load.accepted.Load(), r.load.unknown.Load()
	}
	return f
}
