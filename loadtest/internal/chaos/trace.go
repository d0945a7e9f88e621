package chaos

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
)

// wantNoTrace wants a name in no key and no member of the sale in Redis, in no row of
// Postgres, in no message of NATS, and no key in Redis of a sale that there is not.
func (r *Round) wantNoTrace(ctx context.Context, name string) error {
	for _, want := range []func(context.Context, string) error{r.wantNoKeys, r.wantNoRows, r.wantNoMessages} {
		reading, cancel := context.WithTimeout(ctx, readWithin)
		err := want(reading, name)
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Round) wantNoKeys(ctx context.Context, name string) error {
	client, err := r.redisClient()
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }() // it only read
	entries, err := r.stores.Postgres.Entries(ctx)
	if err != nil {
		return err
	}
	known := make(map[string]bool, len(entries))
	for _, e := range entries {
		known[e.ID] = true
	}
	keys := client.Scan(ctx, 0, "*", 1000).Iterator()
	for keys.Next(ctx) {
		key := keys.Val()
		_, rest, _ := strings.Cut(key, "{")
		id, _, _ := strings.Cut(rest, "}")
		if !known[id] || strings.Contains(key, name) {
			r.fail("I11", "Redis has the key %q", key)
		}
		if id != r.saleID {
			continue
		}
		if err := r.wantNotIn(ctx, client, key, name); err != nil {
			return err
		}
	}
	if err := keys.Err(); err != nil {
		return fmt.Errorf("cannot list the keys of Redis: %w", err)
	}
	return nil
}

// wantNotIn wants a name in nothing that a key holds.
func (r *Round) wantNotIn(ctx context.Context, client redis.UniversalClient, key, name string) error {
	kind, err := client.Type(ctx, key).Result()
	if err != nil {
		return fmt.Errorf("cannot read what %s is: %w", key, err)
	}
	var members *redis.ScanIterator
	switch kind {
	case "string":
		value, err := client.Get(ctx, key).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return fmt.Errorf("cannot read %s: %w", key, err)
		}
		if strings.Contains(value, name) {
			r.fail("I11", "Redis has %q in %s", value, key)
		}
		return nil
	case "hash":
		members = client.HScan(ctx, key, 0, "*", 1000).Iterator()
	case "set":
		members = client.SScan(ctx, key, 0, "*", 1000).Iterator()
	case "zset":
		members = client.ZScan(ctx, key, 0, "*", 1000).Iterator()
	case "none": // nothing is in it any more
		return nil
	default:
		r.fail("I11", "Redis has %s, which is a %s", key, kind)
		return nil
	}
	var found []string
	for members.Next(ctx) {
		if strings.Contains(members.Val(), name) {
			found = append(found, members.Val())
		}
	}
	if err := members.Err(); err != nil {
		return fmt.Errorf("cannot read %s: %w", key, err)
	}
	if len(found) > 0 {
		r.fail("I11", "Redis has %d members of %s in %s, such as %q", len(found), name, key, found[0])
	}
	return nil
}

// wantNoRows looks at every table, whatever is in it: bytes show in hexadecimal.
func (r *Round) wantNoRows(ctx context.Context, name string) error {
	db, err := r.connect(ctx)
	if err != nil {
		return err
	}
	defer hangUp(db)
	rows, err := db.Query(ctx, "SELECT table_schema, table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')")
	if err != nil {
		return fmt.Errorf("cannot list tables: %w", err)
	}
	tables, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (name pgx.Identifier, err error) {
		name = pgx.Identifier{"", ""}
		return name, row.Scan(&name[0], &name[1])
	})
	if err != nil {
		return fmt.Errorf("cannot list tables: %w", err)
	}
	if len(tables) == 0 {
		return fmt.Errorf("cannot look for %s: Postgres shows no tables", name)
	}
	for _, table := range tables {
		var n int
		err := db.QueryRow(ctx, "SELECT count(*) FROM "+table.Sanitize()+" t WHERE strpos(t::text, $1) > 0 OR strpos(t::text, $2) > 0", name, hex.EncodeToString([]byte(name))).Scan(&n)
		if err != nil {
			return fmt.Errorf("cannot look into table %s: %w", table.Sanitize(), err)
		}
		if n > 0 {
			r.fail("I11", "Postgres has %d rows of %s in %s", n, name, table.Sanitize())
		}
	}
	return nil
}

// wantNoMessages looks at every message of every stream, those behind key-value buckets too.
func (r *Round) wantNoMessages(ctx context.Context, name string) error {
	js, hangUp, err := r.jetStream()
	if err != nil {
		return err
	}
	defer hangUp()
	honest := 0 // messages with buyers who have bought: who sees none of them would not see the name either
	names := js.StreamNames(ctx)
	for of := range names.Name() {
		stream, err := js.Stream(ctx, of)
		if err != nil {
			return fmt.Errorf("cannot open stream %s: %w", of, err)
		}
		found := 0
		for next := uint64(1); ; {
			m, err := stream.GetMsg(ctx, next, jetstream.WithGetMsgSubject(">"))
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				break
			}
			if err != nil {
				return fmt.Errorf("cannot read stream %s from %d on: %w", of, next, err)
			}
			text := fmt.Sprintf("%s %v %s", m.Subject, m.Header, m.Data)
			if strings.Contains(text, name) {
				found++
			}
			if strings.Contains(text, r.saleID+"-buyer-") {
				honest++
			}
			next = m.Sequence + 1
		}
		if found > 0 {
			r.fail("I11", "NATS has %d messages of %s in stream %s", found, name, of)
		}
	}
	if err := names.Err(); err != nil {
		return fmt.Errorf("cannot list streams: %w", err)
	}
	if honest == 0 {
		return fmt.Errorf("cannot look for %s: NATS shows no message of any buyer", name)
	}
	return nil
}
