package redisstock

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"sluice/shared/devstack"
)

func TestOpen_ACallWaitsForAConnectionAsLongAsItMay(t *testing.T) {
	t.Parallel()
	server := devstack.RedisForTest(t)
	for _, c := range []struct {
		wait time.Duration
		held time.Duration
		want error
	}{
		{0, time.Minute, redis.ErrPoolTimeout}, // it does not wait for long unless it is told to
		{time.Minute, 300 * time.Millisecond, nil},
	} {
		client, err := Open(Config{URL: server.URL(), PoolSize: 1, Timeout: 5 * time.Second, Wait: c.wait})
		must(t, err)
		busy := client.rdb.(*redis.Client).Conn()
		must(t, busy.Ping(t.Context()).Err())
		free := time.AfterFunc(c.held, func() { _ = busy.Close() })
		if err := client.Ping(t.Context()); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v", c, err)
		}
		free.Stop()
		must(t, client.Close())
	}
}

// dials counts how often the library dials.
type dials struct{ n atomic.Int64 }

func (d *dials) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		d.n.Add(1)
		return next(ctx, network, addr)
	}
}

func (d *dials) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (d *dials) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func TestOpen_AServerThatIsGoneIsDialledOnceACall(t *testing.T) {
	t.Parallel()
	nobody, err := devstack.ReservePort()
	must(t, err)
	defer func() { must(t, nobody.Release()) }()
	client, err := Open(Config{URL: "redis://" + nobody.Addr()})
	must(t, err)
	defer func() { must(t, client.Close()) }()
	var d dials
	client.rdb.AddHook(&d)
	if err := client.Ping(t.Context()); err == nil || d.n.Load() != 1 {
		t.Errorf("dialled %d times: %v", d.n.Load(), err)
	}
}
