package bench

import (
	"context"
	"fmt"
	"time"

	"sluice/loadtest/internal/wait"
)

const (
	drainPatience = 3 * time.Minute
	lookEvery     = 20 * time.Millisecond
)

// catchUp lets the worker order all that was accepted.
func (b *bench) catchUp(ctx context.Context, _ int, _ figures) error {
	if err := b.worker.Resume(); err != nil {
		return err
	}
	for saleID, answered := range b.accepted {
		if err := b.settled(ctx, saleID); err != nil {
			return err
		}
		if err := b.judge(ctx, saleID, answered); err != nil {
			return err
		}
		delete(b.accepted, saleID)
	}
	return nil
}

// settled waits until every reservation of a sale has its outcome.
func (b *bench) settled(ctx context.Context, saleID string) error {
	ctx, cancel := context.WithTimeout(ctx, drainPatience)
	defer cancel()
	epoch, err := b.epoch(ctx, saleID)
	if err != nil {
		return err
	}
	for {
		snap, handOff, err := b.Stores.Redis.Snapshot(ctx, saleID, epoch)
		if err == nil && handOff.Count == 0 && snap.Served >= snap.Rank {
			return nil
		}
		if !wait.For(ctx, lookEvery) {
			return fmt.Errorf("sale %s is not settled: %d of %d reservations, %d in hand-off: %w", saleID, snap.Served, snap.Rank, handOff.Count, ctx.Err())
		}
	}
}

func (b *bench) epoch(ctx context.Context, saleID string) (int64, error) {
	if epoch, ok := b.epochs[saleID]; ok {
		return epoch, nil
	}
	entry, err := b.Stores.Postgres.Entry(ctx, saleID)
	if err != nil {
		return 0, err
	}
	b.epochs[saleID] = entry.Epoch
	return entry.Epoch, nil
}

// judge adds a violation when a settled sale has fewer orders than 202 answers.
func (b *bench) judge(ctx context.Context, saleID string, answered int) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var held int
	err := b.db.QueryRow(ctx, `SELECT held FROM sale_stock WHERE sale_id = $1`, saleID).Scan(&held)
	if err != nil {
		return fmt.Errorf("cannot read stock of sale %s: %w", saleID, err)
	}
	if held < answered {
		b.rep.Fail("I3", "sale %s has %d orders, %d attempts were answered 202", saleID, held, answered)
	}
	return nil
}
