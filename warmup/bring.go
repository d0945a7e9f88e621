package main

import (
	"context"
	"errors"
	"time"

	"sluice/shared/changes"
	"sluice/shared/pgstore"
	"sluice/shared/sale"
)

const bringPause = 100 * time.Millisecond // between looks at whether another process is done

func (s *stores) bringer() changes.Bringer {
	return changes.Bringer{Truth: s.postgres, Stock: s.redis, Catalogue: s.queue}
}

// bringAll brings entries of sales that are loaded to Redis and to the catalogue, then their
// allow lists, which take longer. One sale's error does not keep the others back.
func (s *stores) bringAll(ctx context.Context, entries []sale.Entry) error {
	var failed []error
	var unlisted []sale.Entry
	for _, e := range entries {
		brought, err := s.bringer().Entry(ctx, e)
		if brought.Unlisted {
			unlisted = append(unlisted, e)
		}
		failed = append(failed, err)
	}
	if len(entries) > 0 {
		failed = append(failed, s.points.Hit(pointConfigured))
	}
	for _, e := range unlisted {
		failed = append(failed, s.bringList(ctx, e))
	}
	return errors.Join(failed...)
}

// bringList brings a sale's allow list, or waits until a worker has.
func (s *stores) bringList(ctx context.Context, e sale.Entry) error {
	for {
		err := s.bringer().AllowList(ctx, e.ID)
		if !errors.Is(err, pgstore.ErrLocked) {
			return err
		}
		if _, configured, err := s.redis.Configure(ctx, e); err != nil || !configured.Unlisted {
			return nil // it is there; or not live, which the load tells
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(bringPause):
		}
	}
}
