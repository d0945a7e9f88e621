package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/shared/sale"
)

// settleOlder has everything decided that anybody was answered 202 for before the fence.
func (l *Loader) settleOlder(ctx context.Context, done *Done) error {
	e := done.Entry
	start := time.Now()
	if e.Epoch > 1 { // before the first epoch nobody reserved anything
		if err := pause(ctx, sale.AnswersOver); err != nil {
			return err
		}
	}
	done.Waiting = time.Since(start)
	if err := l.Hit(Waited); err != nil {
		return err
	}
	// Once more when it is done: the stream may be lost while it is waited for, too. Behind
	// the fence nobody else gets at these tickets, and with the keys of their epoch they go.
	for ordered := false; ; ordered = true {
		saved, err := l.saveQueued(ctx, done)
		if err != nil {
			return err
		}
		if ordered && saved == 0 {
			break
		}
		if done.Last, err = l.orderAll(ctx, e); err != nil {
			return err
		}
	}
	done.Ordering = time.Since(start) - done.Waiting
	return nil
}

// orderAll has everything ordered that the stream holds now, up to last.
func (l *Loader) orderAll(ctx context.Context, e sale.Entry) (last uint64, err error) {
	if last, err = l.lastSequence(ctx, e.ID); err != nil {
		return last, err
	}
	if err := l.Truth.SetLastSequence(ctx, e.ID, e.Epoch, last); err != nil || last == 0 {
		return last, err
	}
	if err := l.awaitOrders(ctx, e.ID, last); err != nil {
		return last, fmt.Errorf("cannot load sale %s: hand-overs up to %d wait for a worker to order them: %w", e.ID, last, err)
	}
	return last, nil
}

func (l *Loader) lastSequence(ctx context.Context, saleID string) (uint64, error) {
	call, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	return l.Queue.LastSequence(call, saleID)
}

const (
	reportEvery = 10 * time.Second // a load that waits for orders says so
	blindFor    = 15 * time.Second // without an answer of the stream, after which another worker may see more
)

// awaitOrders waits until every hand-over up to last is acknowledged, which is after
// its orders were committed. There is no time after which it would be right to go on. Whoever is
// cut off from the stream gives the load up, and with it what keeps others from it.
func (l *Loader) awaitOrders(ctx context.Context, saleID string, last uint64) error {
	report, answered := time.Now().Add(reportEvery), time.Now()
	for {
		done, err := l.acknowledged(ctx, saleID, last)
		switch {
		case done:
			return nil
		case err == nil:
			answered = time.Now()
		case time.Since(answered) > blindFor:
			return fmt.Errorf("cannot see whether the hand-overs of sale %s are ordered: %w", saleID, err)
		}
		if time.Now().After(report) {
			l.reportWait(ctx, saleID, last, err)
			report = time.Now().Add(reportEvery)
		}
		if ended := pause(ctx, askAgain); ended != nil {
			return errors.Join(ended, err)
		}
	}
}

// reportWait says what is waited for, and why if that is known: err is what the stream
// answered last.
func (l *Loader) reportWait(ctx context.Context, saleID string, last uint64, err error) {
	log := l.Log.With("sale", saleID, "last_seq", last)
	call, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	paused, other := l.Truth.PacePause(call)
	if err = errors.Join(err, other); err != nil {
		log = log.With("error", err)
	}
	if paused.Paused {
		log = log.With("why", paused.String()+": POST /admin/v1/pace/resume lets it go on")
	}
	log.Warn("load waits for hand-overs to be ordered")
}

func (l *Loader) acknowledged(ctx context.Context, saleID string, last uint64) (bool, error) {
	call, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	done, err := l.Queue.Acknowledged(call, saleID, last)
	return done && err == nil, err
}

func (l *Loader) enter(ctx context.Context) (leave func(), err error) {
	if l.Room == nil {
		return func() {}, nil
	}
	return l.Room(ctx)
}

// fill counts, loads and flips. Postgres is read while Redis takes in what was read
// before, a few pages at a time.
func (l *Loader) fill(ctx context.Context, done *Done, token string) error {
	leave, err := l.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, countWithin)
	defer cancel()
	start := time.Now()
	e := done.Entry
	pages := make(chan []sale.LoadTicket, 2)
	group, both := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(pages)
		return l.Truth.Count(both, e.ID, e.Epoch, sale.LoadParts{
			Live: func(live sale.Live) error {
				done.Live = live
				return l.Hit(Counted)
			},
			Allow:    func(users []string) error { return l.Stock.LoadAllow(both, e.ID, e.Epoch, token, users) },
			Adjusted: func(page []sale.Adjustment) error { return l.Stock.LoadAdjusted(both, e.ID, e.Epoch, token, page) },
			Tickets: func(page []sale.LoadTicket) error {
				select {
				case pages <- page:
					return nil
				case <-both.Done():
					return both.Err()
				}
			},
		})
	})
	group.Go(func() error {
		for page := range pages { // one after the other: a slot is the last one's
			if err := l.Stock.LoadTickets(both, e.ID, e.Epoch, token, page); err != nil {
				return err
			}
			done.Tickets += len(page)
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		return err
	}
	if err := l.Hit(Loaded); err != nil {
		return err
	}
	// As of the count: what the operator changed since is brought by the convergence loop.
	if err := l.Stock.Flip(ctx, token, done.Live); err != nil {
		return err
	}
	done.Loading = time.Since(start)
	return nil
}
