package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/wait"
)

// postgresSlow: workers make as many orders as the database bears, and give nothing back
// that it takes long to commit.
func postgresSlow() Row {
	return Row{
		ID: "27", Name: "postgres-slow", Bound: 30 * time.Second, Stack: Needs{Proxied: true},
		Fault: fmt.Sprintf("Postgres lets an eighth of the commits a second through that workers made before, for %s; then every commit takes %s more, for as long",
			slowFor, slowCommit),
		Expect: "attempts are accepted on; workers pace themselves and make orders on, without errors; fewer than 1 % of the hand-overs are delivered again",
		Run:    func(ctx context.Context, r *Round) error { return r.postgresIsSlow(ctx) },
	}
}

const (
	slowRate    = 300 // attempts a second
	slowFor     = 8 * time.Second
	slowCommit  = 500 * time.Millisecond
	sampleEvery = 250 * time.Millisecond

	leastCommits = 3 // a second: on a machine with much else to do an eighth may be none
)

func (r *Round) postgresIsSlow(ctx context.Context) error {
	if err := r.begin(ctx, killUnits, slowRate); err != nil {
		return err
	}
	before := r.fleet(ctx)
	did, err := r.commitsPerSecond(ctx, before)
	if err != nil {
		return err
	}
	proxy := r.stack.Proxy("postgres")
	defer proxy.Heal()
	r.inject()
	left := max(leastCommits, int(did/8))
	proxy.LimitCommits(left)
	if err := r.pacesItself(ctx, fmt.Sprintf("%d of %.0f commits a second", left, did)); err != nil {
		return err
	}
	proxy.LimitCommits(0)
	proxy.DelayCommits(slowCommit)
	if err := r.pacesItself(ctx, fmt.Sprintf("%s more a commit", slowCommit)); err != nil {
		return err
	}
	proxy.Heal()
	r.heal()
	if err := r.recovered(ctx); err != nil {
		return err
	}
	return r.wantFewRedelivered(ctx, before)
}

// commitsPerSecond is how many orders' transactions the workers commit since before.
func (r *Round) commitsPerSecond(ctx context.Context, before collect.Fleet) (did float64, err error) {
	wait.For(ctx, slowFor/2)
	err = r.until(ctx, hitPatience, "workers commit orders", func() bool {
		did = r.fleet(ctx).Since(before, r.workerURLs()).Commits
		return did > 0
	})
	return did, err
}

// fleet is what the workers have done so far.
func (r *Round) fleet(ctx context.Context) collect.Fleet {
	return collect.ReadFleet(ctx, r.workerURLs())
}

func (r *Round) workerURLs() []string {
	urls := make([]string, r.workers())
	for i := range urls {
		urls[i] = r.admin(i)
	}
	return urls
}

// pacesItself watches workers for a while that the database holds up: each says by what, and
// the sale goes on.
func (r *Round) pacesItself(ctx context.Context, held string) error {
	before, accepted := r.fleet(ctx), r.load.accepted.Load()
	paced, samples, failed := 0, 0, 0
	for deadline := time.Now().Add(slowFor); time.Now().Before(deadline) && wait.For(ctx, sampleEvery); {
		for _, w := range r.fleet(ctx) {
			samples++
			switch w.LimitedBy {
			case "pace", "latency":
				paced++
			case "errors":
				failed++
			}
		}
	}
	did := r.fleet(ctx).Since(before, r.workerURLs())
	accepted = r.load.accepted.Load() - accepted
	if paced == 0 {
		return fmt.Errorf("%w a worker's pace was the limit with %s", errNot, held)
	}
	r.hit(paced, "with %s workers were limited by their pace or by latency in %d of %d samples, and made %.0f orders a second of %d accepted attempts in %s",
		held, paced, samples, did.Orders, accepted, slowFor)
	if failed > 0 {
		r.fail("I12", "with %s order transactions failed in %d of %d samples", held, failed, samples)
	}
	if accepted == 0 || did.Orders == 0 {
		r.fail("I9", "with %s %d attempts were accepted in %s, and %.0f orders a second made", held, accepted, slowFor, did.Orders)
	}
	return nil
}

// wantFewRedelivered wants fewer than one in a hundred hand-overs to have come again.
func (r *Round) wantFewRedelivered(ctx context.Context, before collect.Fleet) error {
	again := r.fleet(ctx).Since(before, r.workerURLs()).Redelivered
	handOvers, err := r.countHandOvers(ctx)
	if err != nil {
		return err
	}
	if handOvers == 0 || again/float64(handOvers) >= 0.01 {
		r.fail("I12", "%.0f of %d hand-overs were delivered again", again, handOvers)
	}
	r.hit(0, "%.0f of %d hand-overs were delivered again", again, handOvers)
	return nil
}

// countHandOvers is how many the stream has of the sale.
func (r *Round) countHandOvers(ctx context.Context) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	js, hangUp, err := r.jetStream()
	if err != nil {
		return 0, err
	}
	defer hangUp()
	stream, err := js.Stream(ctx, streamName)
	if err != nil {
		return 0, fmt.Errorf("cannot open stream: %w", err)
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(r.subject()))
	if err != nil {
		return 0, fmt.Errorf("cannot count hand-overs: %w", err)
	}
	return info.State.Subjects[r.subject()], nil
}
