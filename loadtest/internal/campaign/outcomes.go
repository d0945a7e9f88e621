package campaign

import (
	"context"
	"time"

	"sluice/loadtest/internal/wait"
)

const (
	lookEvery  = 250 * time.Millisecond
	lookOfSale = 5 * time.Millisecond // at least: many sales are looked at more rarely
	tellEvery  = 5 * time.Second
)

// How waiting for outcomes ended.
type ending int

const (
	drained ending = iota // no reservation is without an outcome
	stuck                 // nothing moved for too long
	falling               // there were ever fewer without, but patience was over
)

// awaitOutcomes waits until no reservation of the mix's sales is without an outcome, but
// not for ever, and not long when nothing moves.
func (p *scene) awaitOutcomes(ctx context.Context) ending {
	begun := time.Now()
	least, last, moved, told := int64(-1), int64(0), begun, begun
	for time.Since(begun) < drainPatience && time.Since(moved) < stuckAfter {
		waiting, err := p.waiting(ctx)
		switch {
		case err != nil: // a store that is away may come back
		case waiting == 0:
			return drained
		case least < 0 || waiting < least:
			least, moved = waiting, time.Now()
		}
		if err == nil {
			last = waiting
		}
		if time.Since(told) >= tellEvery {
			told = time.Now()
			p.say("%d reservations have no outcome yet", last)
		}
		if !wait.For(ctx, max(lookEvery, time.Duration(len(p.sales))*lookOfSale)) {
			return falling
		}
	}
	if time.Since(moved) < stuckAfter {
		return falling
	}
	return stuck
}

// waiting is how many reservations of all sales have no outcome.
func (p *scene) waiting(ctx context.Context) (n int64, err error) {
	for _, one := range p.sales {
		entry, err := p.Stores.Postgres.Entry(ctx, one.ID)
		if err != nil {
			return 0, err
		}
		snap, handOff, err := p.Stores.Redis.Snapshot(ctx, one.ID, entry.Epoch)
		if err != nil {
			return 0, err
		}
		n += max(snap.Rank-snap.Served, handOff.Count)
	}
	return n, nil
}
