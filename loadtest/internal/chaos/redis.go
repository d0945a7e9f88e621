package chaos

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/redis/go-redis/v9"

	"sluice/shared/redisstock"
	"sluice/shared/sale"
)

// redisClient is a connection to Redis itself, whatever stands before it.
func (r *Round) redisClient() (redis.UniversalClient, error) {
	return redisstock.Connect(r.stack.Info().Redis.URL, 0)
}

// ticketsInRedis are the reservations that Redis knows of, by rid, at whatever epoch is the
// sale's. It asks no script, which would check more than that.
func (r *Round) ticketsInRedis(ctx context.Context) (map[string]bool, error) {
	e, err := r.stores.Postgres.Entry(ctx, r.saleID)
	if err != nil {
		return nil, err
	}
	rids := make(map[string]bool)
	err = r.stores.Redis.EachTicket(ctx, r.saleID, e.Epoch, func(t sale.Ticket) error {
		rids[t.RID] = true
		return nil
	})
	return rids, err
}

// snapshot is what Redis says of the sale now.
func (r *Round) snapshot(ctx context.Context) (sale.Snapshot, error) {
	e, err := r.stores.Postgres.Entry(ctx, r.saleID)
	if err != nil {
		return sale.Snapshot{}, err
	}
	s, _, err := r.stores.Redis.Snapshot(ctx, r.saleID, e.Epoch)
	return s, err
}

// appendOnlyFile is where Redis appends what it writes, in the directory of its data, and
// how far it is.
func appendOnlyFile(dir string) (path string, size int64, err error) {
	logs, err := filepath.Glob(filepath.Join(dir, "*.incr.aof"))
	if err != nil || len(logs) != 1 {
		return "", 0, fmt.Errorf("cannot find the append only file among %v: %w", logs, err)
	}
	info, err := os.Stat(logs[0])
	if err != nil {
		return "", 0, err
	}
	return logs[0], info.Size(), nil
}

// inRedis does something to Redis behind everybody's back.
func (r *Round) inRedis(do func(redis.UniversalClient) error) error {
	client, err := r.redisClient()
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }() // every call was answered
	if err := do(client); err != nil {
		return fmt.Errorf("cannot change redis: %w", err)
	}
	return nil
}
