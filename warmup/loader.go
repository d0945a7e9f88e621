package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"sluice/shared/pgstore"
	"sluice/shared/redisstock"
	"sluice/shared/sale"
)

const (
	// maxLoads bounds how often a load starts over because Redis was restarted
	// or fenced by another loader meanwhile.
	maxLoads = 3
	// allowChunk is how many users of an allow list one call to Redis carries.
	allowChunk = 1000
)

// errNeedsRebuild says that there are orders or hand-overs: Redis must be made
// of them, which a load does not do.
var errNeedsRebuild = errors.New("that needs a rebuild, not a load")

// load brings one sale to Redis and the catalogue, and says what it did.
// announcedEpoch is the one the catalogue had before, 0 for none.
func (s *stores) load(ctx context.Context, saleID string, announcedEpoch int64) (done string, err error) {
	unlock, err := s.postgres.LockSale(ctx, saleID)
	if err != nil {
		return "", err
	}
	defer unlock()
	for range maxLoads {
		done, err = s.loadLocked(ctx, saleID, announcedEpoch)
		if !errors.Is(err, redisstock.ErrFence) {
			break
		}
	}
	return done, err
}

// loadLocked decides by what is there, not by what an earlier run may have done:
//
//	Redis live at Postgres's epoch ──► finish, announce
//	else                           ──► next epoch: begin, announce, fence, load, flip, finish, announce
func (s *stores) loadLocked(ctx context.Context, saleID string, announcedEpoch int64) (string, error) {
	entry, err := s.postgres.Entry(ctx, saleID)
	if err != nil {
		return "", err
	}
	if entry.Retired {
		_, err := s.queue.PutEntry(ctx, entry)
		return "retired", err
	}
	snapshot, _, err := s.redis.Snapshot(ctx, saleID, entry.Epoch)
	switch {
	case err == nil && entry.Epoch > 0:
		return "already loaded at " + epochName(entry), s.finish(ctx, entry)
	case err != nil && !errors.Is(err, sale.ErrStale):
		return "", err
	}
	// The surviving epochs may be above Postgres's when it was restored old.
	begun, err := s.begin(ctx, entry, max(snapshot.Epoch, announcedEpoch))
	if err != nil {
		return "", err
	}
	return "loaded at " + epochName(begun), s.finish(ctx, begun)
}

func epochName(e sale.Entry) string { return fmt.Sprintf("epoch %d", e.Epoch) }

// begin makes the sale live in Redis at the next epoch, which is above the epochs
// that Redis and the catalogue know.
func (s *stores) begin(ctx context.Context, entry sale.Entry, above int64) (sale.Entry, error) {
	if _, err := s.loadable(ctx, entry.ID); err != nil {
		return sale.Entry{}, err
	}
	begun, err := s.postgres.BeginLoad(ctx, entry.ID, above)
	if err != nil {
		return sale.Entry{}, err
	}
	if err := s.points.Hit(pointBegun); err != nil {
		return sale.Entry{}, err
	}
	if _, err := s.queue.PutEntry(ctx, begun); err != nil {
		return sale.Entry{}, err
	}
	token := rand.Text()
	if err := s.redis.Fence(ctx, begun.ID, begun.Epoch, token); err != nil {
		return sale.Entry{}, err
	}
	if err := s.points.Hit(pointFenced); err != nil {
		return sale.Entry{}, err
	}
	if err := awaitHandOvers(ctx, entry, above); err != nil {
		return sale.Entry{}, err
	}
	return begun, s.fill(ctx, begun, token)
}

// awaitHandOvers waits for what gateways may have reserved before the fence:
// nothing of a sale that no store knows an epoch of.
func awaitHandOvers(ctx context.Context, before sale.Entry, above int64) error {
	if before.Epoch == 0 && above == 0 {
		return nil
	}
	select {
	case <-ctx.Done():
		return fmt.Errorf("cannot load sale %s: %w", before.ID, ctx.Err())
	case <-time.After(sale.AnswersOver):
		return nil
	}
}

// fill loads what Postgres says behind the fence and flips.
func (s *stores) fill(ctx context.Context, begun sale.Entry, token string) error {
	state, err := s.loadable(ctx, begun.ID)
	if err != nil {
		return err
	}
	for users := range slices.Chunk(state.AllowList, allowChunk) {
		if err := s.redis.LoadAllow(ctx, begun.ID, begun.Epoch, token, users); err != nil {
			return err
		}
	}
	live := redisstock.Live{Entry: begun, Total: state.Total, Stock: state.Total - state.Held}
	if err := s.redis.Flip(ctx, token, live); err != nil {
		return err
	}
	return s.points.Hit(pointFlipped)
}

// finish tells Postgres, then the catalogue, that the epoch is live.
func (s *stores) finish(ctx context.Context, entry sale.Entry) error {
	finished, err := s.postgres.FinishLoad(ctx, entry.ID, entry.Epoch)
	if err != nil {
		return err
	}
	if err := s.points.Hit(pointFinished); err != nil {
		return err
	}
	_, err = s.queue.PutEntry(ctx, finished)
	return err
}

// loadable returns what to load, or an error that wraps errNeedsRebuild.
func (s *stores) loadable(ctx context.Context, saleID string) (pgstore.LoadState, error) {
	state, err := s.postgres.LoadState(ctx, saleID)
	if err != nil {
		return pgstore.LoadState{}, err
	}
	if n := len(state.Orders); n > 0 || state.Held > 0 {
		return pgstore.LoadState{}, fmt.Errorf("cannot load sale %s: it has %d orders but no live state in Redis: %w", saleID, n, errNeedsRebuild)
	}
	handedOver, err := s.handedOver(ctx, saleID)
	if err != nil {
		return pgstore.LoadState{}, err
	}
	if handedOver {
		return pgstore.LoadState{}, fmt.Errorf("cannot load sale %s: it has hand-overs in the stream but no live state in Redis: %w", saleID, errNeedsRebuild)
	}
	return state, nil
}

// handedOver reports whether the stream holds any hand-over of the sale.
func (s *stores) handedOver(ctx context.Context, saleID string) (bool, error) {
	errFound := errors.New("found one")
	err := s.queue.HandOvers(ctx, saleID, func(uint64, sale.HandOver, error) error { return errFound })
	if errors.Is(err, errFound) {
		return true, nil
	}
	return false, err
}
