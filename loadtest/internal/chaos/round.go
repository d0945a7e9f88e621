package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/history"
	"sluice/loadtest/internal/report"
	"sluice/loadtest/internal/stack"
	"sluice/loadtest/internal/wait"
	"sluice/shared/sale"
)

// Round is one row with one seed.
type Round struct {
	row    Row
	seed   uint64
	saleID string
	dir    string // gets its sales file
	src    string // root of the sources
	binDir string // has the programs
	random *rand.Rand
	stack  *stack.Stack
	stores *collect.Stores
	load   *load
	disks  disks
	routes routes
	armed  []armed // in turn

	patience time.Duration // for the stores to come to rest, once everybody knows their outcome; twice that for an outcome

	judged    bool                                // held against the invariants, whatever came of it
	graceful  bool                                // nothing is broken off: whoever has an order has had an answer
	checks    []func(events []history.Event)      // of this row alone, of what clients saw
	mayReject func(history.Order) bool            // orders that may be rejected though their attempts were accepted; nil for none
	outcome   func(ctx context.Context, b bought) // called once for every ticket that has one; nil for nothing

	whole   context.Context // of the run: what outlives the load does not outlive it
	began   time.Time
	text    bytes.Buffer // of the journal
	journal *history.Journal

	mu       sync.Mutex
	injected time.Duration // since began; what follows too
	healed   time.Time
	recovery time.Duration // 0 unless it was seen
	hits     int
	said     []string // how the fault was seen to hit
	pauses   []report.Pause
	found    []sale.Violation
}

const (
	lookEvery   = 20 * time.Millisecond
	hitPatience = 30 * time.Second // for a fault to meet the load
)

func newRound(row Row, seed uint64, s *stack.Stack, stores *collect.Stores, dir string, patience time.Duration) *Round {
	r := &Round{row: row, seed: seed, saleID: fmt.Sprintf("row-%s-%d", row.ID, seed), dir: dir,
		random: rand.New(rand.NewPCG(seed, 0)), stack: s, stores: stores, patience: patience, whole: context.Background(), began: time.Now()}
	r.journal = history.NewJournal(&r.text)
	return r
}

// gateways and workers are how many the stack has.
func (r *Round) gateways() int { return len(r.stack.Info().Gateways) }
func (r *Round) workers() int  { return len(r.stack.Info().Workers) }

// since is a moment as the journal tells time.
func (r *Round) since(moment time.Time) time.Duration { return r.journal.Now() - time.Since(moment) }

func (r *Round) fail(invariant, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found = append(r.found, sale.Violation{Invariant: invariant, Detail: fmt.Sprintf(format, args...)})
}

// inject marks the moment from which the fault is there.
func (r *Round) inject() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.injected = time.Since(r.began)
}

// hit notes that the fault met what it was meant for, so many times. Less than none is seen
// when a process has started again that counts.
func (r *Round) hit(times int, format string, args ...any) {
	if times < 0 {
		r.fail("scenario", "the fault hit %d times: "+format, append([]any{times}, args...)...)
		times = 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hits += times
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

// heal marks the moment from which nothing is broken any more.
func (r *Round) heal() { r.healAt(time.Now()) }

// healAt is heal for a moment that was set before.
func (r *Round) healAt(moment time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.healed = moment
}

// recovered waits until every gateway accepts again, and nothing of before waits for its
// outcome, and takes the time since the heal.
func (r *Round) recovered(ctx context.Context) error {
	return r.recoveredOnce(ctx, "the sale goes on", func() bool { return r.load.goesOn(r.healed) })
}

// recoveredOnce waits until something is so, and takes the time since the heal; none if it
// does not come to be.
func (r *Round) recoveredOnce(ctx context.Context, what string, is func() bool) error {
	err := r.until(ctx, r.row.Bound*slack, what, is)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.recovery = 0
		return fmt.Errorf("%w: %w", errNotRecovered, err)
	}
	r.recovery = time.Since(r.healed)
	return nil
}

// drained is recovered for a sale that accepts no more: nothing waits for its outcome.
func (r *Round) drained(ctx context.Context) error {
	return r.recoveredOnce(ctx, "every reservation has its outcome", func() bool { return r.load.undecided() == 0 })
}

// slack is how much longer than promised a machine may take that has other things to do.
const slack = 3

var (
	errNot          = errors.New("it did not happen that")
	errNotRecovered = errors.New("not recovered")
)

// until looks until something is so. That its caller's time is over is told from its own
// patience: then nobody knows.
func (r *Round) until(ctx context.Context, patience time.Duration, what string, is func() bool) error {
	looking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !is() {
		if wait.For(looking, lookEvery) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("nobody waited any longer until %s: %w", what, err)
		}
		return fmt.Errorf("%w %s in %s", errNot, what, patience)
	}
	return nil
}

// accepting waits until the load is under way.
func (r *Round) accepting(ctx context.Context, n int64) error {
	return r.until(ctx, hitPatience, fmt.Sprintf("%d attempts are accepted", n), func() bool { return r.load.accepted.Load() >= n })
}
