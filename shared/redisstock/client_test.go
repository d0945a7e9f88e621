package redisstock

import (
	"errors"
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
