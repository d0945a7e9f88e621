package soak

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"

	"sluice/loadtest/internal/stack"
	"sluice/shared/jetqueue"
	"sluice/shared/redisstock"
)

const mib = 1 << 20

// storeReader reads what stores hold. Its connections come back by themselves.
type storeReader struct {
	redis    redis.UniversalClient
	nats     *nats.Conn
	stream   jetstream.JetStream
	postgres *pgxpool.Pool
	stock    *redisstock.Client
}

func openStoreReader(info stack.Info) (r storeReader, err error) {
	if r.redis, err = redisstock.Connect(info.Redis.URL, 0); err != nil {
		return r, err
	}
	if r.stock, err = redisstock.Open(redisstock.Config{URL: info.Redis.URL, PoolSize: 1}); err != nil {
		return r, err
	}
	if r.nats, err = nats.Connect(info.NATS.URL, nats.MaxReconnects(-1)); err != nil {
		return r, fmt.Errorf("cannot connect to nats: %w", err)
	}
	if r.stream, err = jetstream.New(r.nats); err != nil {
		return r, fmt.Errorf("cannot use jetstream: %w", err)
	}
	config, err := pgxpool.ParseConfig(info.Postgres.URL)
	if err != nil {
		return r, fmt.Errorf("cannot read the URL of Postgres: %w", err)
	}
	config.MaxConns = 1
	if r.postgres, err = pgxpool.NewWithConfig(context.Background(), config); err != nil {
		return r, fmt.Errorf("cannot connect to postgres: %w", err)
	}
	return r, nil
}

func (r storeReader) close() {
	_ = errors.Join(r.redis.Close(), r.stock.Close()) // they only read
	r.nats.Close()
	r.postgres.Close()
}

func (r storeReader) redisNow(ctx context.Context, note noted) error {
	masters, err := redisstock.Masters(ctx, r.redis)
	if err != nil {
		return err
	}
	var keys, bytes float64
	for _, master := range masters {
		n, err := master.DBSize(ctx).Result()
		if err != nil {
			return fmt.Errorf("cannot count keys: %w", err)
		}
		used, err := memoryOf(ctx, master)
		if err != nil {
			return err
		}
		keys, bytes = keys+float64(n), bytes+used
	}
	note(quantity{name: "Redis keys", comesAndGoes: fewKeys}, keys)
	note(quantity{name: "Redis data", unit: "MiB", comesAndGoes: fewStoredMB}, bytes/mib)
	return nil
}

func memoryOf(ctx context.Context, master *redis.Client) (bytes float64, err error) {
	text, err := master.Info(ctx, "memory").Result()
	if err != nil {
		return 0, fmt.Errorf("cannot ask Redis for its memory: %w", err)
	}
	_, rest, _ := strings.Cut(text, "\nused_memory:")
	bytes, err = strconv.ParseFloat(strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]), 64)
	if err != nil {
		return 0, fmt.Errorf("cannot read the memory of Redis: %w", err)
	}
	return bytes, nil
}

// streams are those of Sluice, with why they keep what is in them.
var streams = []struct{ name, kept string }{
	{jetqueue.StreamName, ""},
	{jetqueue.PaymentsStream, "payment events are kept for days, to be replayed to a Postgres that was restored"},
	{"KV_" + jetqueue.BucketName, ""},
}

func (r storeReader) natsNow(ctx context.Context, note noted) error {
	for _, s := range streams {
		stream, err := r.stream.Stream(ctx, s.name)
		if err != nil {
			return fmt.Errorf("cannot read stream %s: %w", s.name, err)
		}
		state := stream.CachedInfo().State
		if err := queueNow(ctx, s.name, stream, note); err != nil {
			return err
		}
		note(quantity{name: s.name + " messages", kept: s.kept, comesAndGoes: fewMessages}, float64(state.Msgs))
		note(quantity{name: s.name + " bytes", unit: "MiB", kept: s.kept, comesAndGoes: fewStoredMB}, float64(state.Bytes)/mib)
		note(quantity{name: s.name + " consumers", counted: true, comesAndGoes: fewConsumers}, float64(state.Consumers))
	}
	return nil
}

// keptRows are the tables whose rows are kept for ever, or for days: they grow by what is
// sold and done.
var keptRows = map[string]string{
	"orders": "every order is kept", "releases": "every release is kept", "payments": "every payment event is kept",
	"refunds_owed": "every refund owed is kept", "sales": "every sale is kept", "sale_stock": "every sale is kept", "rebuilds": "a row a rebuild is kept",
	"audit_log": "what operators did is kept", "reconciliation_runs": "runs are kept for days", "reconciliations": "runs are kept for days",
}

func (r storeReader) postgresNow(ctx context.Context, note noted) error {
	rows, err := r.postgres.Query(ctx, `
		SELECT relname, pg_total_relation_size(oid)::float8 FROM pg_class
		WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY relname`)
	if err != nil {
		return fmt.Errorf("cannot read the sizes of tables: %w", err)
	}
	type table struct {
		Name  string
		Bytes float64
	}
	tables, err := pgx.CollectRows(rows, pgx.RowToStructByPos[table])
	if err != nil {
		return fmt.Errorf("cannot read the sizes of tables: %w", err)
	}
	for _, t := range tables {
		note(quantity{name: "table " + t.Name, unit: "MiB", kept: keptRows[t.Name], comesAndGoes: fewStoredMB}, t.Bytes/mib)
	}
	return nil
}
