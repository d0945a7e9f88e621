package main

import (
	"context"
	"errors"
	"fmt"

	"sluice/shared/load"
	"sluice/shared/sale"
)

// load brings one sale to Redis and the catalogue, and says what it did. A sale whose
// state Redis has lost is rebuilt; then workers must order what was handed over.
func (s *stores) load(ctx context.Context, saleID string) (done string, err error) {
	unlock, err := s.postgres.LockSale(ctx, saleID)
	if err != nil {
		return "", err
	}
	defer unlock()
	entry, err := s.postgres.Entry(ctx, saleID)
	if err != nil {
		return "", err
	}
	if entry.Retired {
		return "retired", nil // workers announce it, as long as it is not forgotten
	}
	left, err := s.leftToWorkers(ctx, entry)
	if err != nil {
		return "", err
	}
	if left {
		return "not live, left to the workers: Postgres was started again, and they compare it with the other stores first", nil
	}
	loader := load.Loader{Truth: s.postgres, Stock: s.redis, Queue: s.queue, Hit: s.points.Hit, Log: s.log}
	result, err := loader.Run(ctx, saleID)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "", fmt.Errorf("not loaded in time (-timeout): %w", err)
	case err != nil:
		return "", err
	case result.Outcome == load.Overtaken:
		return "", fmt.Errorf("cannot load sale %s: another process has begun to load it", saleID)
	}
	// What was applied since the load counted, or by a run that was stopped.
	if err := s.bringAll(ctx, []sale.Entry{result.Entry}); err != nil {
		return "", err
	}
	if result.Outcome == load.Already {
		return "already loaded at " + epochName(result.Entry), nil
	}
	return "loaded at " + epochName(result.Entry), nil
}

// leftToWorkers reports whether a sale that Redis has lost must not be loaded from what
// Postgres says now: it may be an older copy, and a load removes the tickets that tell.
func (s *stores) leftToWorkers(ctx context.Context, e sale.Entry) (bool, error) {
	_, _, err := s.redis.Snapshot(ctx, e.ID, e.Epoch)
	if e.Epoch == 0 || !errors.Is(err, sale.ErrStale) {
		return false, nil // the load says what else there is
	}
	return s.postgres.Uncompared(ctx)
}

func epochName(e sale.Entry) string { return fmt.Sprintf("epoch %d", e.Epoch) }
