package pace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/orderrows"
	"sluice/loadtest/internal/report"
	"sluice/loadtest/internal/stack"
	"sluice/loadtest/internal/wait"
	"sluice/shared/faultproxy"
	"sluice/shared/jetqueue"
	"sluice/shared/redisstock"
)

const (
	feedConns    = 64
	restPatience = 2 * time.Minute // for what is left to be ordered after a scenario
)

// stage is a stack of one scenario in one round, whose workers reach Postgres through a
// proxy, with a feed for every sale.
type stage struct {
	run    *run
	name   string
	stack  *stack.Stack
	db     *pgx.Conn // Postgres itself
	stores *collect.Stores
	stock  *redisstock.Client // of the feeds
	queue  *jetqueue.Queue    // of the feeds
	feeds  []*feed
	watch  *watch
	waits  map[string]report.QueueWait // by sale, once it was audited

	feeding context.Context // ends with stop
	cancel  context.CancelCauseFunc
	running sync.WaitGroup // feeds and watch
}

// open starts a stack with sales and one worker that has settings. The caller closes it.
func (r *run) open(ctx context.Context, name, text string, sales []string, settings ...string) (*stage, error) {
	s := &stage{run: r, name: name, waits: make(map[string]report.QueueWait), watch: &watch{pace: report.Pace{Name: fmt.Sprintf("%s, round %d", name, r.round+1), Text: text}}}
	if err := s.open(ctx, sales, settings); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *stage) open(ctx context.Context, sales, settings []string) (err error) {
	s.run.say("%s: starting Redis, NATS, Postgres, a gateway and a worker", s.name)
	out := filepath.Join(s.run.Out, fmt.Sprintf("%s-%d", s.name, s.run.round+1))
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("cannot write sales file: %w", err)
	}
	file := filepath.Join(out, "sales.yaml")
	if err := os.WriteFile(file, salesFile(sales, time.Now()), 0o644); err != nil {
		return fmt.Errorf("cannot write sales file: %w", err)
	}
	s.stack, err = stack.Start(ctx, stack.Config{
		Gateways: 1, Workers: 1, SalesFile: file, OutDir: out, BinDir: s.run.Bin, Log: s.run.Log,
		Proxied: []string{"postgres"}, WorkerSettings: settings,
	})
	if err != nil {
		return err
	}
	if err := s.connect(ctx); err != nil {
		return err
	}
	if err := s.openFeeds(ctx, sales); err != nil {
		return err
	}
	s.feeding, s.cancel = context.WithCancelCause(ctx)
	s.watch.began = time.Now()
	s.running.Go(func() { s.watch.run(s.feeding, s) })
	return nil
}

func (s *stage) connect(ctx context.Context) (err error) {
	info := s.stack.Info()
	if s.stores, err = collect.Open(ctx, collect.URLs{Redis: info.Redis.URL, NATS: info.NATS.URL, Postgres: info.Postgres.URL}, s.run.Log); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if s.db, err = pgx.Connect(ctx, info.Postgres.URL); err != nil {
		return fmt.Errorf("cannot connect to postgres: %w", err)
	}
	if s.stock, err = redisstock.Open(redisstock.Config{URL: info.Redis.URL, PoolSize: feedConns, Timeout: callTimeout}); err != nil {
		return err
	}
	s.queue, err = jetqueue.Connect(ctx, jetqueue.Config{URL: info.NATS.URL, Name: "sluice-pace", Log: s.run.Log})
	return err
}

func (s *stage) openFeeds(ctx context.Context, sales []string) error {
	for _, id := range sales {
		entry, err := s.stores.Postgres.Entry(ctx, id)
		if err != nil {
			return err
		}
		s.feeds = append(s.feeds, &feed{saleID: id, epoch: entry.Epoch, stock: s.stock, queue: s.queue})
	}
	return nil
}

// proxy stands before Postgres.
func (s *stage) proxy() *faultproxy.Proxy { return s.stack.Proxy("postgres") }

// while runs what feeds a sale until stop. If it fails, the scenario does.
func (s *stage) while(feed func(context.Context) error) {
	s.running.Go(func() {
		if err := feed(s.feeding); err != nil {
			s.cancel(err)
		}
	})
}

// demand keeps more waiting than the workers take between two looks. Where batches are
// to be small, a sale has one of them at a time, and there are many sales: then the
// worker cannot put more into a transaction, and always has another one to begin.
func (s *stage) demand() {
	waiting, batch := largestDemand/len(s.feeds), 0
	if s.run.Batch < orderrows.MaxBatch {
		waiting, batch = 1, s.run.Batch
	}
	for _, f := range s.feeds {
		f.batch = batch
		s.while(func(ctx context.Context) error { return f.keepWaiting(ctx, int64(waiting)) })
	}
}

// sales for demand: at least so many, one for each order transaction that may be in
// flight.
func (r *run) sales(least int) []string {
	if r.Batch < orderrows.MaxBatch {
		return numbered(manySales)
	}
	return numbered(least)
}

const (
	manySales     = 24
	largestDemand = 32_000 // reservations
)

// pause waits; what goes wrong with the feeds meanwhile, or ends the run, is the error.
func (s *stage) pause(d time.Duration) error {
	if wait.For(s.feeding, d) {
		return nil
	}
	return context.Cause(s.feeding)
}

// handOvers is how many the feeds handed over so far.
func (s *stage) handOvers() (n int64) {
	for _, f := range s.feeds {
		n += f.handOvers.Load()
	}
	return n
}

// stop ends the feeds and the watch, and says what went wrong with them.
func (s *stage) stop() error {
	if s.cancel == nil {
		return nil
	}
	s.cancel(nil)
	s.running.Wait()
	if err := context.Cause(s.feeding); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// finish stops the feeds, lets the workers order what is left, as fast as they can, and
// audits every sale.
func (s *stage) finish(ctx context.Context) error {
	if err := s.stop(); err != nil {
		return err
	}
	s.proxy().Heal()
	for _, f := range s.feeds {
		if err := s.rest(ctx, f); err != nil {
			return err
		}
		if err := s.audit(ctx, f); err != nil {
			return err
		}
	}
	s.run.paces = append(s.run.paces, s.watch.pace)
	return nil
}

// rest waits until every reservation of a sale has its outcome; the audit tells what
// has none after that.
func (s *stage) rest(ctx context.Context, f *feed) error {
	deadline := time.Now().Add(restPatience)
	for time.Now().Before(deadline) {
		waiting, err := f.waiting(ctx)
		if err != nil || waiting == 0 {
			return err
		}
		if !wait.For(ctx, lookEvery) {
			return ctx.Err()
		}
	}
	return nil
}

// audit holds a sale's stores against each other and what was accepted.
func (s *stage) audit(ctx context.Context, f *feed) error {
	e, verdict, err := s.stores.Audit(ctx, f.saleID, f.seen, auditPatience)
	if err != nil {
		return err
	}
	s.waits[f.saleID] = collect.QueueWait(e.Redis.Tickets)
	s.run.rep.Orders = s.run.rep.Orders.Plus(report.CountOrders(e.Orders))
	for _, v := range verdict.Violations {
		s.run.rep.Fail(v.Invariant, "%s, sale %s: %s", s.name, f.saleID, v.Detail)
	}
	return nil
}

const auditPatience = 10 * time.Second

// close ends everything; what is wrong with how it ends is a violation.
func (s *stage) close() error {
	errs := []error{s.stop()}
	if s.queue != nil {
		s.queue.Close()
	}
	if s.stock != nil {
		errs = append(errs, s.stock.Close())
	}
	if s.db != nil {
		ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
		defer cancel()
		errs = append(errs, s.db.Close(ctx))
	}
	if s.stores != nil {
		errs = append(errs, s.stores.Close())
	}
	if s.stack != nil {
		if err := s.stack.Close(); err != nil {
			s.run.rep.Fail("scenario", "%s: the stack did not end well: %v", s.name, err)
		}
	}
	return errors.Join(errs...)
}
