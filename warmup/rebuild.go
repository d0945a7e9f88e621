package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/shared/pgstore"
	"sluice/shared/sale"
	"sluice/shared/service"
)

const rebuildPause = 100 * time.Millisecond // between looks at whether workers are done

func runRebuild(ctx context.Context, in input) error {
	var f storeFlags
	fs := newFlags(in, "rebuild", "SALE...")
	f.register(fs)
	ids, err := parseSaleIDs(service.ParseOperands(fs, in.args, in.getenv))
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return service.UsageErrorf("name the sales to rebuild")
	}
	return withStores(ctx, in, f, func(ctx context.Context, s *stores) error { return s.rebuildAll(ctx, in, ids) })
}

// rebuildAll requests every rebuild before it waits for the first. One sale's error
// does not keep the others back.
func (s *stores) rebuildAll(ctx context.Context, in input, ids []string) error {
	start := time.Now()
	requests := make([]sale.Entry, len(ids))
	failed := make([]error, len(ids))
	for i, id := range ids {
		requests[i], failed[i] = s.requestRebuild(ctx, id)
	}
	for i, e := range requests {
		if failed[i] != nil {
			continue
		}
		var done sale.Entry
		if done, failed[i] = s.awaitRebuild(ctx, e); failed[i] != nil {
			continue
		}
		_, err := fmt.Fprintf(in.stdout, "%s: rebuilt at %s in %.1f s\n", done.ID, epochName(done), time.Since(start).Seconds())
		if err != nil {
			return err
		}
	}
	return errors.Join(failed...)
}

// requestRebuild makes the sale one that any worker rebuilds; one that is being rebuilt
// already is waited for.
func (s *stores) requestRebuild(ctx context.Context, id string) (sale.Entry, error) {
	e, err := s.postgres.Entry(ctx, id)
	if err != nil {
		return e, err
	}
	snapshot, _, err := s.redis.Snapshot(ctx, id, e.Epoch)
	if err != nil && !errors.Is(err, sale.ErrStale) {
		return e, err
	}
	e, err = s.postgres.RebuildSale(ctx, sale.Actor{Who: "warmup"}, id, snapshot.Epoch)
	if errors.Is(err, pgstore.ErrNotLoaded) {
		return e, fmt.Errorf("%w: run warmup load", err)
	}
	return e, err
}

// awaitRebuild waits until the sale is live at the epoch requested, or at a later one.
func (s *stores) awaitRebuild(ctx context.Context, requested sale.Entry) (sale.Entry, error) {
	for {
		e, err := s.postgres.Entry(ctx, requested.ID)
		switch {
		case err != nil && ctx.Err() == nil:
			return e, err
		case err == nil && e.Retired:
			return e, fmt.Errorf("sale %s was retired meanwhile", e.ID)
		case err == nil && !e.Rebuilding && e.Epoch >= requested.Epoch:
			return e, nil
		}
		select {
		case <-ctx.Done():
			return e, s.notRebuilt(ctx, requested)
		case <-time.After(rebuildPause):
		}
	}
}

// notRebuilt says whether any worker is at work. The request stays either way.
func (s *stores) notRebuilt(ctx context.Context, requested sale.Entry) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), redisTimeout)
	defer cancel()
	unlock, err := s.postgres.LockSale(ctx, requested.ID)
	switch {
	case errors.Is(err, pgstore.ErrLocked):
		return fmt.Errorf("sale %s is not live yet (-timeout): a worker is at it, see its log", requested.ID)
	case err != nil:
		return fmt.Errorf("sale %s is not live yet (-timeout): %w", requested.ID, err)
	}
	unlock()
	return fmt.Errorf("sale %s is not live yet (-timeout): no worker took the rebuild; it stays requested, so start a worker, or run warmup load", requested.ID)
}
