package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/shared/evidence"
	"sluice/shared/pgstore"
	"sluice/shared/retirement"
	"sluice/shared/sale"
	"sluice/shared/service"
)

const (
	lockPause     = 100 * time.Millisecond // between two attempts at a sale that a worker has in hand
	auditPatience = 2 * time.Second        // that a sale which is over may take to come to rest
)

func runRetire(ctx context.Context, in input) error {
	var f storeFlags
	var retention time.Duration
	var dryRun bool
	fs := newFlags(in, "retire", "SALE...")
	f.register(fs)
	fs.DurationVar(&retention, "retention", 24*time.Hour, "time that must have passed since a sale's end; the workers' is theirs")
	fs.BoolVar(&dryRun, "dry-run", false, "only say what keeps a sale from being retired")
	ids, err := parseSaleIDs(service.ParseOperands(fs, in.args, in.getenv))
	if err != nil {
		return err
	}
	switch {
	case len(ids) == 0:
		return service.UsageErrorf("name the sales to retire")
	case retention < 0:
		return service.UsageErrorf("-retention (%s) must not be negative, is %v", service.Variable("retention"), retention)
	}
	return withStores(ctx, in, f, func(ctx context.Context, s *stores) error {
		return s.retireAll(ctx, in, ids, retention, dryRun)
	})
}

// retireAll retires what can be retired and says of the others why not. One sale's
// error does not keep the others.
func (s *stores) retireAll(ctx context.Context, in input, ids []string, retention time.Duration, dryRun bool) error {
	var failed []error
	for _, id := range ids {
		done, err := s.retire(ctx, id, retention, dryRun)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if _, err := fmt.Fprintf(in.stdout, "%s: %s\n", id, done); err != nil {
			return err
		}
	}
	return errors.Join(failed...)
}

func (s *stores) retire(ctx context.Context, id string, retention time.Duration, dryRun bool) (done string, err error) {
	steps := s.retirement()
	var reasons []retirement.Reason
	if dryRun {
		reasons, err = steps.Reasons(ctx, id, retention)
	} else {
		err = s.whenFree(ctx, func() error {
			reasons, err = steps.Retire(ctx, id, retention)
			return err
		})
	}
	switch {
	case err != nil:
		return "", err
	case len(reasons) > 0:
		return "", fmt.Errorf("cannot retire sale %s: %s", id, retirement.Text(reasons))
	case dryRun:
		return s.standing(ctx, id)
	}
	return "retired; workers remove its catalogue entry once everybody has heard", s.clear(ctx, steps, id)
}

// standing says of a sale that nothing keeps whether it is retired already.
func (s *stores) standing(ctx context.Context, id string) (string, error) {
	entry, err := s.postgres.Entry(ctx, id)
	if err != nil {
		return "", err
	}
	if entry.Retired {
		return "is retired already", nil
	}
	return "can be retired", nil
}

// clear clears a retired sale away, unless that was done.
func (s *stores) clear(ctx context.Context, steps *retirement.Retirement, id string) error {
	uncleared, err := s.postgres.Uncleared(ctx)
	if err != nil {
		return err
	}
	for _, e := range uncleared {
		if e.ID == id {
			return s.whenFree(ctx, func() error { return steps.Clear(ctx, e) })
		}
	}
	return nil
}

// whenFree does a step as soon as no other process has the sale in hand.
func (s *stores) whenFree(ctx context.Context, step func() error) error {
	for {
		err := step()
		if !errors.Is(err, pgstore.ErrLocked) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(lockPause):
		}
	}
}

func (s *stores) retirement() *retirement.Retirement {
	traces := evidence.Stores{Postgres: s.postgres, Redis: s.redis, Stream: s.queue}
	return &retirement.Retirement{
		Rows: s.postgres, Stock: s.redis, Stream: s.queue, Hit: s.points.Hit,
		Audit: func(ctx context.Context, saleID string) (sale.Verdict, error) {
			_, verdict, err := traces.Audit(ctx, saleID, nil, auditPatience)
			return verdict, err
		},
	}
}
