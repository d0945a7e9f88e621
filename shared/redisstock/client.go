package redisstock

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"sluice/lua"
	"sluice/shared/sale"
)

// Config of a client. Zero values take the defaults named.
type Config struct {
	URL      string        // redis://host:port/db
	PoolSize int           // connections; default 32
	MinIdle  int           // connections kept dialled, at most PoolSize; default 0
	Timeout  time.Duration // of one call; default 300 ms
	Wait     time.Duration // for one of the connections, before the call; default 100 ms
}

// Client runs the scripts on one Redis server. It is safe for concurrent use.
type Client struct {
	rdb     redis.UniversalClient
	scripts map[string]*redis.Script
	minIdle int
}

// Open prepares a client; it dials on first use. It fails on a bad URL only.
func Open(c Config) (*Client, error) {
	o, err := redis.ParseURL(c.URL)
	if err != nil {
		return nil, fmt.Errorf("cannot use redis url: %w", err)
	}
	quiet.Do(func() { redis.SetLogger(silent{}) })
	timeout := orDefault(c.Timeout, 300*time.Millisecond)
	o.MaxRetries = -1 // a retried script would only hide an unknown outcome
	o.ContextTimeoutEnabled = true
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = timeout, timeout, timeout
	o.PoolTimeout = orDefault(c.Wait, 100*time.Millisecond)
	o.PoolSize = orDefault(c.PoolSize, 32)
	o.MinIdleConns = c.MinIdle
	scripts := make(map[string]*redis.Script)
	for _, s := range lua.All() {
		scripts[s.Name] = redis.NewScript(s.Source)
	}
	return &Client{rdb: redis.NewClient(o), scripts: scripts, minIdle: c.MinIdle}, nil
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

// Ping asks whether Redis answers.
func (c *Client) Ping(ctx context.Context) error {
	if err := c.rdb.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("cannot reach redis: %w", err)
	}
	return nil
}

// Time is Redis's, in the whole milliseconds that scripts tell it in.
func (c *Client) Time(ctx context.Context) (time.Time, error) {
	at, err := c.rdb.Time(ctx).Result()
	if err != nil {
		return time.Time{}, fmt.Errorf("cannot read the time of redis: %w", err)
	}
	return at.UTC().Truncate(time.Millisecond), nil
}

// Dialled says whether Config.MinIdle connections stand, so that the first attempts
// do not wait for handshakes; nil when they do.
func (c *Client) Dialled(ctx context.Context) error {
	if err := c.Ping(ctx); err != nil { // the pool dials beside a call, never by itself
		return err
	}
	if total := int(c.rdb.PoolStats().TotalConns); total < c.minIdle {
		return fmt.Errorf("%d of %d connections to redis are dialled", total, c.minIdle)
	}
	return nil
}

// LoadScripts puts every script that is not there into Redis's cache, so that no attempt
// pays for it.
func (c *Client) LoadScripts(ctx context.Context) error {
	all := lua.All()
	hashes := make([]string, len(all))
	for i, s := range all {
		hashes[i] = c.scripts[s.Name].Hash()
	}
	there, err := c.rdb.ScriptExists(ctx, hashes...).Result()
	if err != nil {
		return fmt.Errorf("cannot ask redis for its scripts: %w", err)
	}
	for i, s := range all {
		if i < len(there) && there[i] {
			continue
		}
		if err := c.scripts[s.Name].Load(ctx, c.rdb).Err(); err != nil {
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
