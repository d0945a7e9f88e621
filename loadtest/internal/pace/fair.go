package pace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	times = 100 // the traffic of the small sale has the large one

	// Sales. The small one is several, to tell its waits apart.
	warmUp, alone, beside, large = "warm-up", "alone", "beside", "large"
)

// fair has a sale wait beside another with a hundred times its traffic, and a queue of all
// that comes in the time that is measured.
func (r *run) fair(ctx context.Context, f figures) (err error) {
	s, err := r.open(ctx, "fair", "A sale beside another with a hundred times its traffic, and a queue.", []string{warmUp, alone, beside, large})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.aloneAndBeside(); err != nil {
		return err
	}
	return s.finishWaits(ctx, f)
}

// stuck is fair with a large sale none of whose transactions ends.
func (r *run) stuck(ctx context.Context, f figures) (err error) {
	s, err := r.open(ctx, "stuck", "A sale beside another with a hundred times its traffic, whose transactions hang.", []string{warmUp, alone, beside, large})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	unlock, err := s.lockSale(ctx, large)
	if err != nil {
		return err
	}
	if err := errors.Join(s.aloneAndBeside(), unlock()); err != nil {
		return err
	}
	s.watch.mark("lock taken away")
	if err := s.rest(ctx, s.sale(large)); err != nil {
		return err
	}
	return s.finishWaits(ctx, f)
}

// lockSale takes a lock that every order transaction of a sale waits for.
func (s *stage) lockSale(ctx context.Context, saleID string) (unlock func() error, err error) {
	limited, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	tx, err := s.db.Begin(limited)
	if err == nil {
		_, err = tx.Exec(limited, `SELECT FROM sales WHERE sale_id = $1 FOR UPDATE`, saleID)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot lock sale %s: %w", saleID, err)
	}
	return func() error {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
		defer cancel()
		if err := tx.Rollback(limited); err != nil && !errors.Is(err, pgx.ErrTxClosed) {
			return fmt.Errorf("cannot unlock sale %s: %w", saleID, err)
		}
		return nil
	}, nil
}

// aloneAndBeside sells the small sale alone for a while, once everything is warm, and
// then beside the large one, once that has a backlog.
func (s *stage) aloneAndBeside() error {
	const warm = 2 * time.Second
	if err := s.steadily(warm, traffic{warmUp: s.run.Traffic}); err != nil {
		return err
	}
	s.watch.mark(alone)
	if err := s.steadily(s.run.Quiet, traffic{alone: s.run.Traffic}); err != nil {
		return err
	}
	s.watch.mark(large)
	if err := s.sale(large).backlog(s.feeding, int(s.run.Quiet.Seconds()*float64(times*s.run.Traffic))); err != nil {
		return err
	}
	s.watch.mark(beside)
	return s.steadily(s.run.Quiet, traffic{large: times * s.run.Traffic, beside: s.run.Traffic})
}

func (s *stage) sale(id string) *feed {
	return s.feeds[slices.IndexFunc(s.feeds, func(f *feed) bool { return f.saleID == id })]
}

// traffic is attempts a second by sale.
type traffic map[string]int

// steadily feeds sales for a while.
func (s *stage) steadily(d time.Duration, t traffic) error {
	ctx, cancel := context.WithTimeout(s.feeding, d)
	defer cancel()
	errs := make([]error, len(s.feeds))
	var feeding sync.WaitGroup
	for i, f := range s.feeds {
		if perSecond := t[f.saleID]; perSecond > 0 {
			feeding.Go(func() { errs[i] = f.steadily(ctx, perSecond) })
		}
	}
	feeding.Wait()
	return errors.Join(append(errs, context.Cause(s.feeding))...)
}

// finishWaits ends a scenario whose figure is how long the small sale waited.
func (s *stage) finishWaits(ctx context.Context, f figures) error {
	if err := s.finish(ctx); err != nil {
		return err
	}
	was, is, many := s.waits[alone], s.waits[beside], s.waits[large]
	if was.P95 == 0 {
		return fmt.Errorf("cannot compare waits: none was confirmed in sale %s", alone)
	}
	f[s.name+"_p95_vs_alone"] = is.P95 / max(was.P95, s.run.LeastWait.Seconds())
	f[s.name+"_p95_alone_ms"], f[s.name+"_p95_beside_ms"], f[s.name+"_p95_large_ms"] = 1000*was.P95, 1000*is.P95, 1000*many.P95
	s.run.say("%s: p95 queue wait %.0f ms alone, %.0f ms beside; of the large sale %.0f ms", s.name, 1000*was.P95, 1000*is.P95, 1000*many.P95)
	return nil
}
