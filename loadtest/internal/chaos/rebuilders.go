package chaos

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// rebuildersMeet takes the lock from whoever rebuilds, until another has begun too.
func (r *Round) rebuildersMeet(ctx context.Context) error {
	begun := func() (int64, error) {
		return r.count(ctx, `SELECT loading_epoch FROM sales WHERE sale_id = $1`, r.saleID)
	}
	before, err := begun()
	if err != nil {
		return err
	}
	if err := r.loseSale(ctx); err != nil {
		return err
	}
	var ended, epoch int64
	err = r.until(ctx, hitPatience, "two rebuilds are under way", func() bool {
		n, err := r.endLocks(ctx)
		if ended += n; err != nil {
			return false
		}
		epoch, err = begun()
		return err == nil && epoch >= before+2
	})
	if err != nil {
		return err
	}
	r.heal()
	r.hit(int(ended), "rebuilds lost the connection of their lock %d times, and began at epochs %d to %d", ended, before+1, epoch)
	if err := r.recovered(ctx); err != nil {
		return err
	}
	return r.highestIsLive(ctx, epoch)
}

// endLocks ends the connections that hold the lock of the sale.
func (r *Round) endLocks(ctx context.Context) (int64, error) {
	return r.count(ctx, `SELECT count(pg_terminate_backend(pid)) FROM pg_locks WHERE locktype = 'advisory' AND granted AND
		(classid::bigint << 32 | objid::bigint) = hashtextextended('sluice/sale/' || current_schema() || '/' || $1, 0)`, r.saleID)
}

// highestIsLive wants Postgres and Redis at the epoch of the last rebuild that began.
func (r *Round) highestIsLive(ctx context.Context, least int64) error {
	entry, err := r.stores.Postgres.Entry(ctx, r.saleID)
	if err != nil {
		return err
	}
	last, err := r.count(ctx, `SELECT loading_epoch FROM sales WHERE sale_id = $1`, r.saleID)
	if err != nil {
		return err
	}
	if entry.Rebuilding || entry.Epoch != last || last < least {
		r.fail("I8", "the sale is at epoch %d, the last rebuild is of epoch %d", entry.Epoch, last)
	}
	if _, _, err := r.stores.Redis.Snapshot(ctx, r.saleID, entry.Epoch); err != nil {
		return errors.Join(fmt.Errorf("redis is not live at epoch %d", entry.Epoch), err)
	}
	return nil
}

// loseSale removes the sale's keys.
func (r *Round) loseSale(ctx context.Context) error {
	return r.inRedis(func(client redis.UniversalClient) error {
		keys := client.Scan(ctx, 0, "sluice:{"+r.saleID+"}:*", 1000).Iterator()
		var all []string
		for keys.Next(ctx) {
			all = append(all, keys.Val())
		}
		if err := keys.Err(); err != nil {
			return err
		}
		return client.Del(ctx, all...).Err()
	})
}
