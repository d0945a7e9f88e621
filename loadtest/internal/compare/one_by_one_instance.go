package compare

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
	"sluice/shared/sale"
)

// onesByOne decide attempts, and make orders of what they have decided.
type onesByOne struct {
	keys     redis.UniversalClient
	script   *redis.Script
	conn     *nats.Conn
	stream   jetstream.JetStream
	pool     *pgxpool.Pool
	ordering jetstream.ConsumeContext
	orders   sync.WaitGroup
	places   chan struct{} // for orders under way
}

func openOneByOne(ctx context.Context, on backends) (decider, error) {
	o := &onesByOne{script: redis.NewScript(oneByOneScript), places: make(chan struct{}, goodsConns)}
	var err error
	if o.keys, o.conn, o.stream, err = connectStores(on.redis, on.nats, oneByOneRedis); err != nil {
		return nil, err
	}
	if err := o.open(ctx, on); err != nil {
		o.close()
		return nil, err
	}
	return o, nil
}

func (o *onesByOne) open(ctx context.Context, on backends) (err error) {
	if err := o.script.Load(ctx, o.keys).Err(); err != nil {
		return fmt.Errorf("cannot load script: %w", err)
	}
	if o.pool, err = goodsPool(ctx, on.postgres); err != nil {
		return err
	}
	consumer, err := o.stream.Consumer(ctx, oneByOneStream, oneByOneName)
	if err != nil {
		return fmt.Errorf("cannot find consumer: %w", err)
	}
	if o.ordering, err = consumer.Consume(o.take); err != nil {
		return fmt.Errorf("cannot consume: %w", err)
	}
	return nil
}

func (o *onesByOne) close() {
	if o.ordering != nil {
		o.ordering.Stop()
		<-o.ordering.Closed()
		o.orders.Wait()
	}
	if o.pool != nil {
		o.pool.Close()
	}
	o.conn.Close()
	_ = o.keys.Close() // all calls are answered
}

func (o *onesByOne) decide(ctx context.Context, saleID, userID string) (sale.Outcome, error) {
	got, err := o.keys.EvalSha(ctx, o.script.Hash(), []string{oneByOneStock(saleID), oneByOneBuyers(saleID)}, userID).Int()
	if err != nil {
		return 0, fmt.Errorf("cannot take unit: %w", err)
	}
	switch got {
	case 0:
		return sale.SoldOut, nil
	case 2:
		return sale.Replay, nil
	}
	if _, err := o.stream.Publish(ctx, oneByOnePrefix+saleID, []byte(userID)); err != nil {
		return 0, fmt.Errorf("cannot hand over: %w", err)
	}
	return sale.Accepted, nil
}

// take makes an order of a message, beside as many others as there are connections.
func (o *onesByOne) take(msg jetstream.Msg) {
	o.places <- struct{}{}
	o.orders.Go(func() {
		defer func() { <-o.places }()
		if err := o.order(msg); err != nil {
			_ = msg.NakWithDelay(deciding / 10) // else it comes again by itself, later
		}
	})
}

// order makes the order of a message. One that is there already is the message's own, which
// has come again.
func (o *onesByOne) order(msg jetstream.Msg) error {
	ctx, cancel := context.WithTimeout(context.Background(), deciding)
	defer cancel()
	outcome, err := takeOne(ctx, o.pool, "compare_"+oneByOneName, strings.TrimPrefix(msg.Subject(), oneByOnePrefix), string(msg.Data()))
	if err == nil && outcome == sale.SoldOut {
		err = errors.New("the database has no unit for what Redis has sold")
	}
	if err != nil {
		return err
	}
	return msg.Ack()
}
