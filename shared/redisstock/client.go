package redisstock

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"sluice/lua"
	"sluice/shared/sale"
)

// Config of a client. Zero values take the defaults named.
type Config struct {
	URL      string        // see URLForms
	PoolSize int           // connections, to each server of a cluster; default 32
	MinIdle  int           // of them kept dialled, at most PoolSize; default 0
	Timeout  time.Duration // of one call, with the connection that it may need; default 300 ms
	Wait     time.Duration // for one of the connections, before the call; default 100 ms
}

// Client runs the scripts on one Redis server, on the master that Sentinels name, or on the
// masters of a cluster. It is safe for concurrent use.
type Client struct {
	rdb     redis.UniversalClient
	scripts map[string]*redis.Script
	minIdle int
}

// Open prepares a client; it dials on first use. It fails on a bad URL only.
func Open(c Config) (*Client, error) {
	a, err := parseURL(c.URL)
	if err != nil {
		return nil, fmt.Errorf("cannot use redis url: %w", err)
	}
	quiet.Do(func() { redis.SetLogger(silent{}) })
	scripts := make(map[string]*redis.Script)
	for _, s := range lua.All() {
		scripts[s.Name] = redis.NewScript(s.Source)
	}
	return &Client{rdb: a.open(c), scripts: scripts, minIdle: c.MinIdle}, nil
}

// Connect prepares the library's own client for a URL, with its own retries, for whoever
// looks at Redis itself. pool is the connections that are dialled and kept to each server; 0
// leaves that to the library.
func Connect(text string, pool int) (redis.UniversalClient, error) {
	a, err := parseURL(text)
	if err != nil {
		return nil, fmt.Errorf("cannot use redis url: %w", err)
	}
	switch {
	case a.cluster != nil:
		a.cluster.PoolSize, a.cluster.MinIdleConns = pool, pool
		return redis.NewClusterClient(a.cluster), nil
	case a.sentinel != nil:
		a.sentinel.PoolSize, a.sentinel.MinIdleConns = pool, pool
		return redis.NewFailoverClient(a.sentinel), nil
	default:
		a.server.PoolSize, a.server.MinIdleConns = pool, pool
		return redis.NewClient(a.server), nil
	}
}

// open makes the client that sales are sold by. A script that is sent again by the library
// would only hide an unknown outcome, so nothing is, but for what newCluster says. A server
// that refuses connections is gone, and known so at once: the next call dials again.
func (a address) open(c Config) redis.UniversalClient {
	timeout, wait := orDefault(c.Timeout, 300*time.Millisecond), orDefault(c.Wait, 100*time.Millisecond)
	pool := orDefault(c.PoolSize, 32)
	switch {
	case a.cluster != nil:
		o := a.cluster
		o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled = -1, 1, true
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout = timeout, timeout, timeout
		o.PoolTimeout, o.PoolSize, o.MinIdleConns = wait, pool, c.MinIdle
		return newCluster(o, timeout+wait)
	case a.sentinel != nil:
		o := a.sentinel
		o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled = -1, 1, true
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout = timeout, timeout, timeout
		o.PoolTimeout, o.PoolSize, o.MinIdleConns = wait, pool, c.MinIdle
		return timed(redis.NewFailoverClient(o), timeout+wait)
	default:
		o := a.server
		o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled = -1, 1, true
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout = timeout, timeout, timeout
		o.PoolTimeout, o.PoolSize, o.MinIdleConns = wait, pool, c.MinIdle
		return timed(redis.NewClient(o), timeout+wait)
	}
}

// timed is a client of which no call takes longer than most.
func timed(c *redis.Client, most time.Duration) *redis.Client {
	c.AddHook(calls{most})
	return c
}

// quiet keeps the library from writing to stderr beside the process's own log:
// every failed call is an error that its caller handles.
var quiet sync.Once

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// Close closes all connections.
func (c *Client) Close() error { return c.rdb.Close() }

// Ping asks whether Redis answers: of a cluster, any master.
func (c *Client) Ping(ctx context.Context) error {
	err := c.someMaster(ctx, ping)
	if err != nil {
		return fmt.Errorf("cannot reach redis: %w", err)
	}
	return nil
}

// PingShards asks whether every master answers.
func (c *Client) PingShards(ctx context.Context) error {
	if err := c.everyMaster(ctx, ping); err != nil {
		return fmt.Errorf("cannot reach every redis master: %w", err)
	}
	return nil
}

// Probes ask whether Redis answers, by the name of the dependency: redis, and of a cluster
// redis_shards too, so that a shard that is away is told and is not all of Redis.
func (c *Client) Probes() map[string]func(context.Context) error {
	probes := map[string]func(context.Context) error{"redis": c.Ping}
	if c.Sharded() {
		probes["redis_shards"] = c.PingShards
	}
	return probes
}

func ping(ctx context.Context, master *redis.Client) error { return master.Ping(ctx).Err() }

// Time is Redis's, in the whole milliseconds that scripts tell it in. A cluster has a clock
// on every master, which NTP keeps together: one answers for all, and each sale goes by its
// own master's.
func (c *Client) Time(ctx context.Context) (at time.Time, err error) {
	err = c.anyMaster(ctx, func(ctx context.Context, master *redis.Client) (err error) {
		at, err = master.Time(ctx).Result()
		return err
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("cannot read the time of redis: %w", err)
	}
	return at.UTC().Truncate(time.Millisecond), nil
}

// Dialled says whether Config.MinIdle connections stand, so that the first attempts
// do not wait for handshakes; nil when they do. Of a cluster, to every master that answers.
func (c *Client) Dialled(ctx context.Context) error {
	var few atomic.Pointer[error]
	err := c.someMaster(ctx, func(ctx context.Context, master *redis.Client) error {
		if err := master.Ping(ctx).Err(); err != nil { // the pool dials beside a call, never by itself
			return err
		}
		if total := int(master.PoolStats().TotalConns); total < c.minIdle {
			err := fmt.Errorf("%d of %d connections to redis are dialled", total, c.minIdle)
			few.Store(&err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot reach redis: %w", err)
	}
	if err := few.Load(); err != nil {
		return *err
	}
	return nil
}

// LoadScripts puts every script that is not there into Redis's cache, so that no attempt
// pays for it: of a cluster, into that of every master that answers. A master that comes
// later is sent a script whole when it is first run there.
func (c *Client) LoadScripts(ctx context.Context) error { return c.someMaster(ctx, c.loadScripts) }

func (c *Client) loadScripts(ctx context.Context, master *redis.Client) error {
	all := lua.All()
	hashes := make([]string, len(all))
	for i, s := range all {
		hashes[i] = c.scripts[s.Name].Hash()
	}
	there, err := master.ScriptExists(ctx, hashes...).Result()
	if err != nil {
		return fmt.Errorf("cannot ask redis for its scripts: %w", err)
	}
	for i, s := range all {
		if i < len(there) && there[i] {
			continue
		}
		if err := master.ScriptLoad(ctx, s.Source).Err(); err != nil {
			return fmt.Errorf("cannot load script %s: %w", s.Name, err)
		}
	}
	return nil
}

// run executes a script by its hash, once more by its text if Redis forgot it.
// The first row of the reply becomes the Snapshot; the rest is returned.
func (c *Client) run(ctx context.Context, s lua.Script, saleID string, epoch int64, args ...any) (sale.Snapshot, []any, error) {
	argv := make([]any, 0, len(args)+1)
	argv = append(argv, epoch)
	argv = append(argv, args...)
	reply, err := c.scripts[s.Name].Run(ctx, c.rdb, keys(saleID, epoch), argv...).Slice()
	if err != nil {
		return sale.Snapshot{}, nil, fmt.Errorf("cannot run %s for sale %s: %w", s.Name, saleID, err)
	}
	if len(reply) == 0 {
		return sale.Snapshot{}, nil, fmt.Errorf("cannot read reply of %s for sale %s: it is empty", s.Name, saleID)
	}
	state, live, err := readState(saleID, reply[0])
	if err != nil {
		return sale.Snapshot{}, nil, fmt.Errorf("cannot read reply of %s: %w", s.Name, err)
	}
	if !live {
		return state, reply[1:], sale.ErrStale
	}
	return state, reply[1:], nil
}
