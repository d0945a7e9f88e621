package backlog

import (
	"context"
	"time"

	"sluice/shared/sale"
)

// Snapshots read a sale's state in Redis.
type Snapshots interface {
	Snapshot(ctx context.Context, saleID string, epoch int64) (sale.Snapshot, sale.HandOff, error)
}

// Reading reads for somebody who re-reads every sale once a second, and tells a Watch
// what that brought: no sale is read twice.
type Reading struct {
	Redis Snapshots
	Watch *Watch
}

// Snapshot is that of Redis.
func (r Reading) Snapshot(ctx context.Context, saleID string, epoch int64) (sale.Snapshot, sale.HandOff, error) {
	snap, handOff, err := r.Redis.Snapshot(ctx, saleID, epoch)
	if ctx.Err() == nil { // else the reader is about to end, and nothing is wrong with Redis
		r.Watch.Take(time.Now(), saleID, snap, handOff, err)
	}
	return snap, handOff, err
}
