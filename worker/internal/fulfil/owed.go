package fulfil

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/shared/service"
)

// salesAtOnce bounds how many sales a round works on at a time: a call to Redis that
// hangs must not keep the other sales waiting.
const salesAtOnce = 8

// debt is what Postgres says and Redis must still show: rows without a mark.
type debt[T any] struct {
	name  string        // in logs
	every time.Duration // between looks when nothing pokes
	page  int           // rows of one sale in one call

	// read returns the oldest rows, at most limitPerSale of each sale, without
	// those whose ids are in except.
	read func(ctx context.Context, limitPerSale int, except []string) ([]T, error)
	key  func(T) saleEpoch // which call to Redis a row belongs to
	// apply brings rows of one sale to Redis and marks them. missing are the ids
	// of those that Redis knows nothing of; they have no mark.
	apply func(ctx context.Context, key saleEpoch, rows []T) (missing []string, err error)
}

// owed pays a debt: it repeats until every row has its mark.
type owed[T any] struct {
	debt[T]
	loop    loop
	log     *slog.Logger
	faults  service.Quiet
	unknown unknown
}

func newOwed[T any](d debt[T], log *slog.Logger) *owed[T] {
	return &owed[T]{debt: d, loop: newLoop(), log: log}
}

// poke makes it look at once.
func (o *owed[T]) poke() { o.loop.poke() }

func (o *owed[T]) run(ctx context.Context) {
	o.loop.run(ctx, o.every, func() {
		if err := o.round(ctx); err != nil && ctx.Err() == nil && o.faults.Allow() {
			o.log.Warn("redis is behind postgres", "rows", o.name, "error", err)
		}
	})
}

// paid is what became of one sale's page.
type paid struct {
	saleID  string
	rows    int
	missing []string
	err     error
}

// round applies one page of every sale. One sale's fault does not keep the others
// from being applied.
func (o *owed[T]) round(ctx context.Context) error {
	rows, err := o.read(ctx, o.page, o.unknown.passOver(time.Now()))
	if err != nil {
		return err
	}
	groups := groupBy(rows, o.key)
	results := make(chan paid, len(groups))
	var applying errgroup.Group
	applying.SetLimit(salesAtOnce)
	for key, group := range groups {
		applying.Go(func() error {
			missing, err := o.apply(ctx, key, group)
			results <- paid{key.saleID, len(group), missing, err}
			return nil
		})
	}
	_ = applying.Wait() // the faults are told together
	close(results)
	var faults []error
	for p := range results {
		faults = append(faults, o.account(p))
	}
	return errors.Join(faults...)
}

// account remembers what is missing. It looks again at once when a page was full and
// the next one is another.
func (o *owed[T]) account(p paid) error {
	if p.err != nil {
		return p.err
	}
	progress := len(p.missing) < p.rows
	for _, id := range p.missing {
		progress = o.unknown.add(id) || progress
	}
	if progress && p.rows == o.page {
		o.poke()
	}
	if len(p.missing) > 0 {
		return fmt.Errorf("sale %s has no ticket in redis for %d %s", p.saleID, len(p.missing), o.name)
	}
	return nil
}
