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
	file, err := salesfile.Read(files[0])
	if err != nil {
		return err
	}
	return withStores(ctx, in, f, func(ctx context.Context, s *stores) error {
		if !oversubscribe {
			if err := s.fits(ctx, file.Sales); err != nil {
				return err
			}
		}
		if dryRun {
			return s.plan(ctx, in, file)
		}
		return s.apply(ctx, in, file)
	})
}

// plan says what apply would do.
func (s *stores) plan(ctx context.Context, in input, file *salesfile.File) error {
	planned, err := s.postgres.Plan(ctx, catalogueOf(file))
	if err != nil {
		return err
	}
	if err := writeChanges(in.stdout, planned, wouldBe); err != nil {
		return err
	}
	return s.writeNotes(ctx, in.stdout, file)
}

func wouldBe(c pgstore.Change) pgstore.Change {
	if c == pgstore.Unchanged {
		return c
	}
	return "would be " + c
}

// apply writes all templates and sales to Postgres or none, then brings each to Redis and the
// catalogue: first what gateways are to follow at once, then the loads. Whatever it was
// stopped at, the next run goes on from there, and workers do.
func (s *stores) apply(ctx context.Context, in input, file *salesfile.File) error {
	applied, err := s.postgres.Apply(ctx, catalogueOf(file))
	if err != nil {
		return err
	}
	if err := s.points.Hit(pointApplied); err != nil {
		return err
	}
	told := errors.Join(writeChanges(in.stdout, applied, func(c pgstore.Change) pgstore.Change { return c }), s.writeNotes(ctx, in.stdout, file))
	var entries []sale.Entry
	changed := make(map[string]bool)
	var ids []string
	for _, a := range applied.Templates {
		if a.Change == pgstore.Updated && a.Entry.Epoch > 0 && !a.Entry.Retired {
			entries = append(entries, a.Entry)
		}
	}
	for _, a := range applied.Sales {
		ids = append(ids, a.SaleID)
		if a.Change == pgstore.Updated && a.Entry.Epoch > 0 {
			entries, changed[a.SaleID] = append(entries, a.Entry), true
		}
	}
	return errors.Join(told, s.bringAll(ctx, entries), s.loadAll(ctx, in, ids, changed))
}

func catalogueOf(file *salesfile.File) pgstore.Catalogue {
	c := pgstore.Catalogue{Templates: file.Templates, Sales: make([]pgstore.SaleConfig, len(file.Sales))}
	for i, one := range file.Sales {
		c.Sales[i] = pgstore.SaleConfig{Sale: one.Sale, AllowList: one.AllowList}
	}
	return c
}

// writeChanges says of each template and sale what became of it, and of each field what it
// was and is.
func writeChanges(w io.Writer, applied pgstore.AppliedCatalogue, said func(pgstore.Change) pgstore.Change) error {
	for _, a := range applied.Templates {
		if err := writeChange(w, "template "+a.ID, said(a.Change), a.Fields); err != nil {
			return err
		}
	}
	for _, a := range applied.Sales {
		if err := writeChange(w, a.SaleID, said(a.Change), a.Fields); err != nil {
			return err
		}
	}
	return nil
}

func writeChange(w io.Writer, what string, change pgstore.Change, fields []sale.FieldChange) error {
	if _, err := fmt.Fprintf(w, "%s: %s\n", what, change); err != nil {
		return err
	}
	for _, c := range fields {
		if _, err := fmt.Fprintf(w, "  %s\n", c); err != nil {
			return err
		}
	}
	return nil
}
