package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"sluice/shared/pgstore"
	"sluice/shared/sale"
	"sluice/shared/service"
	"sluice/warmup/internal/salesfile"
)

func runApply(ctx context.Context, in input) error {
	var f storeFlags
	var oversubscribe, dryRun bool
	fs := newFlags(in, "apply", "FILE")
	f.register(fs)
	fs.BoolVar(&oversubscribe, "oversubscribe", false, "apply sales even if their hand-overs together might not fit into the stream; once it is full, attempts get 503")
	fs.BoolVar(&dryRun, "dry-run", false, "say what would change, and change nothing")
	files, err := service.ParseOperands(fs, in.args, in.getenv)
	if err != nil {
		return err
	}
	if len(files) != 1 {
		return service.UsageErrorf("apply takes one sales file, got %d", len(files))
	}
	sales, err := salesfile.Read(files[0])
	if err != nil {
		return err
	}
	return withStores(ctx, in, f, func(ctx context.Context, s *stores) error {
		if !oversubscribe {
			if err := s.fits(ctx, sales); err != nil {
				return err
			}
		}
		if dryRun {
			return s.plan(ctx, in, sales)
		}
		return s.apply(ctx, in, sales)
	})
}

// plan says what apply would do.
func (s *stores) plan(ctx context.Context, in input, sales []salesfile.Sale) error {
	configs, _ := configsOf(sales)
	planned, err := s.postgres.Plan(ctx, configs)
	if err != nil {
		return err
	}
	for i := range planned {
		if planned[i].Change != pgstore.Unchanged {
			planned[i].Change = "would be " + planned[i].Change
		}
	}
	return writeChanges(in.stdout, planned)
}

// apply writes all sales to Postgres or none, then brings each to Redis and the
// catalogue: first what gateways are to follow at once, then the loads. Whatever it was
// stopped at, the next run goes on from there, and workers do.
func (s *stores) apply(ctx context.Context, in input, sales []salesfile.Sale) error {
	configs, ids := configsOf(sales)
	applied, err := s.postgres.Apply(ctx, configs)
	if err != nil {
		return err
	}
	if err := s.points.Hit(pointApplied); err != nil {
		return err
	}
	told := writeChanges(in.stdout, applied)
	var entries []sale.Entry
	changed := make(map[string]bool)
	for _, a := range applied {
		if a.Change == pgstore.Updated && a.Entry.Epoch > 0 {
			entries, changed[a.SaleID] = append(entries, a.Entry), true
		}
	}
	return errors.Join(told, s.bringAll(ctx, entries), s.loadAll(ctx, in, ids, changed))
}

func configsOf(sales []salesfile.Sale) (configs []pgstore.SaleConfig, ids []string) {
	for _, one := range sales {
		configs = append(configs, pgstore.SaleConfig{Sale: one.Sale, AllowList: one.AllowList})
		ids = append(ids, one.ID)
	}
	return configs, ids
}

// writeChanges says of each sale what became of it, and of each field what it was and is.
func writeChanges(w io.Writer, applied []pgstore.Applied) error {
	for _, a := range applied {
		if _, err := fmt.Fprintf(w, "%s: %s\n", a.SaleID, a.Change); err != nil {
			return err
		}
		for _, c := range a.Fields {
			if _, err := fmt.Fprintf(w, "  %s\n", c); err != nil {
				return err
			}
		}
	}
	return nil
}
