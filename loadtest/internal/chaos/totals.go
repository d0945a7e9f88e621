package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
)

// totals watches the total of a sale in Redis and in Postgres while it only falls: it must
// never be lower in Postgres (I8).
type totals struct {
	round    *Round
	cache    redis.UniversalClient
	database *pgx.Conn
	stop     context.CancelFunc
	done     chan struct{}
	first    int // times that it was lower in Redis
	err      error
}

const watchPause = 2 * time.Millisecond

// watchTotals watches until end, which is to be called.
func (r *Round) watchTotals(ctx context.Context) (*totals, error) {
	cache, err := r.redisClient()
	if err != nil {
		return nil, err
	}
	database, err := r.connect(ctx)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	t := &totals{round: r, cache: cache, database: database, stop: stop, done: make(chan struct{})}
	go t.run(ctx)
	return t, nil
}

// end returns how often the total was seen to be lower in Redis.
func (t *totals) end() (first int, err error) {
	t.stop()
	<-t.done
	ctx, cancel := context.WithTimeout(context.Background(), callWithin)
	defer cancel()
	return t.first, errors.Join(t.err, t.cache.Close(), t.database.Close(ctx))
}

func (t *totals) run(ctx context.Context) {
	defer close(t.done)
	for ctx.Err() == nil {
		if err := t.look(context.WithoutCancel(ctx)); err != nil {
			t.err = err
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(watchPause):
		}
	}
}

// look reads Postgres between two readings of Redis: what it says is then older than the
// second and newer than the first.
func (t *totals) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	before, err := t.inRedis(ctx)
	if err != nil {
		return err
	}
	var rows int64
	if err := t.database.QueryRow(ctx, `SELECT total FROM sale_stock WHERE sale_id = $1`, t.round.saleID).Scan(&rows); err != nil {
		return fmt.Errorf("cannot read total of postgres: %w", err)
	}
	after, err := t.inRedis(ctx)
	if err != nil {
		return err
	}
	if before < rows {
		t.first++
	}
	if after > rows {
		t.round.fail("I8", "Postgres has let go of units that Redis sells: its total is %d, in Redis it was %d afterwards", rows, after)
	}
	return nil
}

func (t *totals) inRedis(ctx context.Context) (int64, error) {
	n, err := t.cache.HGet(ctx, "sluice:{"+t.round.saleID+"}:meta", "total").Int64()
	if err != nil {
		return 0, fmt.Errorf("cannot read total of redis: %w", err)
	}
	return n, nil
}
