package main

import (
	"context"
	"fmt"
	"strings"

	"sluice/shared/pgstore"
	"sluice/shared/service"
	"sluice/warmup/internal/salesfile"
)

func runApply(ctx context.Context, in input) error {
	var f storeFlags
	var oversubscribe bool
	fs := newFlags(in, "apply", "FILE")
	f.register(fs)
	fs.BoolVar(&oversubscribe, "oversubscribe", false, "apply sales even if their hand-overs together might not fit into the stream; once it is full, attempts get 503")
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
		return s.apply(ctx, in, sales)
	})
}

// apply writes all sales to Postgres or none, then brings each to Redis and the
// catalogue. Whatever it was stopped at, the next run goes on from there.
func (s *stores) apply(ctx context.Context, in input, sales []salesfile.Sale) error {
	configs := make([]pgstore.SaleConfig, len(sales))
	ids := make([]string, len(sales))
	for i, one := range sales {
		configs[i] = pgstore.SaleConfig{Sale: one.Sale, AllowList: one.AllowList}
		ids[i] = one.ID
	}
	applied, err := s.postgres.Apply(ctx, configs)
	if err != nil {
		return err
	}
	if err := s.points.Hit(pointApplied); err != nil {
		return err
	}
	for _, a := range applied {
		if _, err := fmt.Fprintf(in.stdout, "%s: %s\n", a.SaleID, describeChange(a)); err != nil {
			return err
		}
	}
	return s.loadAll(ctx, in, ids)
}

func describeChange(a pgstore.Applied) string {
	if a.Change == pgstore.Updated {
		return string(a.Change) + " " + strings.Join(a.Fields, ", ")
	}
	return string(a.Change)
}
