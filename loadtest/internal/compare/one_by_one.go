package compare

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
	"sluice/loadtest/internal/stack"
	"sluice/shared/redisstock"
)

const (
	oneByOneName   = "one_by_one"
	oneByOneStream = "COMPARE_ONE_BY_ONE"
	oneByOnePrefix = "compare.one_by_one." // of subjects, before the sale
	// oneByOneRedis are an instance's connections to Redis: calls must overlap, or nothing
	// would happen while one is under way.
	oneByOneRedis = 64
	// oneByOneAckWait is longer than any order takes.
	oneByOneAckWait = 30 * time.Second
)

// oneByOne is the shop as it is often drawn: a script in Redis decides, a queue takes what
// it sold, consumers make orders. Each of the three works on one attempt at a time.
type oneByOne struct{}

func (oneByOne) Name() string { return oneByOneName }

func (oneByOne) Notes() []string {
	return []string{fmt.Sprintf("%s: %d HTTP servers, processes of their own, each with %d connections to the same Redis, one to the same NATS, and %d to the same Postgres. An attempt is one EVALSHA (dedupe by SET, stock less one; sold out: 409) "+
		"and, if it got a unit, one message to a file stream, acknowledged once it is on disk, then 202. In the same processes consumers make an order of one message at a time, %d at once in each, by the transaction of %s, and acknowledge it. "+
		"Once it is sold out each attempt still asks Redis. What a crash leaves between the script and the message is lost.", oneByOneName, goodsInstances, oneByOneRedis, goodsConns, goodsConns, conditionalUpdateName)}
}

//go:embed one_by_one.lua
var oneByOneScript string

func oneByOneStock(saleID string) string  { return "compare:{" + saleID + "}:stock" }
func oneByOneBuyers(saleID string) string { return "compare:{" + saleID + "}:buyers" }

// oneByOneShop has a stream and keys beside the tables.
type oneByOneShop struct {
	*goodsShop
	sales []Sale
}

func (oneByOne) Open(ctx context.Context, site Site, sales []Sale) (Shop, error) {
	shop, err := openGoods(ctx, site, oneByOneName, "UNIQUE INDEX", sales)
	if err != nil {
		return nil, err
	}
	all := oneByOneShop{goodsShop: shop, sales: sales}
	if err := all.fill(ctx); err != nil {
		return nil, errors.Join(err, all.Drop(ctx))
	}
	if err := shop.start(ctx); err != nil {
		return nil, errors.Join(err, all.Drop(ctx))
	}
	return all, nil
}

// fill makes the stream and its consumer, and stocks Redis.
func (s oneByOneShop) fill(ctx context.Context) error {
	err := onStores(ctx, s.site.Stack, func(keys redis.UniversalClient, js jetstream.JetStream) error {
		stream, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: oneByOneStream, Subjects: []string{oneByOnePrefix + "*"}, Storage: jetstream.FileStorage})
		if err != nil {
			return err
		}
		_, err = stream.CreateConsumer(ctx, jetstream.ConsumerConfig{Durable: oneByOneName, AckPolicy: jetstream.AckExplicitPolicy, AckWait: oneByOneAckWait, MaxAckPending: -1})
		for _, at := range s.sales {
			err = errors.Join(err, keys.Set(ctx, oneByOneStock(at.ID), at.Total, 0).Err())
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot stock %s: %w", oneByOneName, err)
	}
	return nil
}

func (s oneByOneShop) Drop(ctx context.Context) error {
	err := onStores(ctx, s.site.Stack, func(keys redis.UniversalClient, js jetstream.JetStream) error {
		var errs []error
		for _, at := range s.sales {
			errs = append(errs, keys.Del(ctx, oneByOneStock(at.ID), oneByOneBuyers(at.ID)).Err())
		}
		return errors.Join(append(errs, js.DeleteStream(ctx, oneByOneStream))...)
	})
	return errors.Join(err, s.goodsShop.Drop(ctx))
}

// onStores connects to Redis and NATS for a moment.
func onStores(ctx context.Context, at stack.Info, do func(keys redis.UniversalClient, js jetstream.JetStream) error) error {
	keys, conn, js, err := connectStores(at.Redis.URL, at.NATS.URL, 1)
	if err != nil {
		return err
	}
	defer conn.Close()
	return errors.Join(do(keys, js), keys.Close(), ctx.Err())
}

func connectStores(redisURL, natsURL string, pool int) (redis.UniversalClient, *nats.Conn, jetstream.JetStream, error) {
	keys, err := redisstock.Connect(redisURL, pool)
	if err != nil {
		return nil, nil, nil, err
	}
	conn, err := nats.Connect(natsURL)
	if err != nil {
		_ = keys.Close() // it has not dialled
		return nil, nil, nil, fmt.Errorf("cannot connect to NATS: %w", err)
	}
	js, err := jetstream.New(conn)
	if err != nil {
		conn.Close()
		_ = keys.Close()
		return nil, nil, nil, fmt.Errorf("cannot use JetStream: %w", err)
	}
	return keys, conn, js, nil
}
