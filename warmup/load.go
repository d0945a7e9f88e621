package main

import (
	"context"
	"errors"
	"fmt"

	"sluice/shared/pgstore"
	"sluice/shared/sale"
	"sluice/shared/service"
)

func runLoad(ctx context.Context, in input) error {
	var f storeFlags
	fs := newFlags(in, "load", "[SALE...]")
	f.register(fs)
	ids, err := parseSaleIDs(service.ParseOperands(fs, in.args, in.getenv))
	if err != nil {
		return err
	}
	return withStores(ctx, in, f, func(ctx context.Context, s *stores) error {
		if len(ids) == 0 {
			if ids, err = s.saleIDs(ctx); err != nil {
				return err
			}
		}
		return s.loadAll(ctx, in, ids, nil)
	})
}

// parseSaleIDs checks operands that are sale ids.
func parseSaleIDs(ids []string, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if err := sale.ValidateID(id); err != nil {
			return nil, service.UsageErrorf("%v", err)
		}
	}
	return ids, nil
}

// saleIDs lists the sales that are not retired.
func (s *stores) saleIDs(ctx context.Context) ([]string, error) {
	entries, err := s.postgres.Entries(ctx)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, e := range entries {
		if !e.Retired {
			ids = append(ids, e.ID)
		}
	}
	return ids, nil
}

// loadAll loads each sale that needs it. One sale's error does not keep the
// others back. Those that were changed need not be loaded here: whoever loads them
// brings the change.
func (s *stores) loadAll(ctx context.Context, in input, ids []string, changed map[string]bool) error {
	var failed []error
	for _, id := range ids {
		done, err := s.load(ctx, id)
		if changed[id] && errors.Is(err, pgstore.ErrLocked) {
			done, err = "another process is at it, and brings the change where this one could not", nil
		}
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

// announced is the catalogue as gateways see it, by sale.
func (s *stores) announced(ctx context.Context) (map[string]sale.Entry, error) {
	entries, err := s.queue.Entries(ctx)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]sale.Entry, len(entries))
	for _, e := range entries {
		byID[e.ID] = e
	}
	return byID, nil
}
