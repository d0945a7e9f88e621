package jetqueue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	dialTimeout   = 2 * time.Second
	dialPause     = 200 * time.Millisecond
	reconnectWait = 250 * time.Millisecond
	pingInterval  = 2 * time.Second // two without an answer: a server that hangs is left for another
	apiTimeout    = 5 * time.Second // of a JetStream call whose caller set no deadline
)

// Config says which server to use.
type Config struct {
	URL      string       // nats://…; several are separated by commas
	Name     string       // of this process, shown by the server
	Log      *slog.Logger // connection changes and dropped hints; required
	OnClosed func()       // called when the connection is closed for good though Close was not called; may be nil

	// OnReconnected is called, if not nil, whenever the connection was renewed: what
	// the server has may be older than what it had, or nothing.
	OnReconnected func()
}

// Queue is one connection to NATS. It is safe for concurrent use.
type Queue struct {
	conn    *nats.Conn
	js      jetstream.JetStream
	log     *slog.Logger
	closing atomic.Bool

	mu           sync.Mutex
	catalog      jetstream.KeyValue // nil until first used
	seen         StreamConfig       // as last seen by Upkeep; zero before
	paymentsSeen StreamConfig       // of payment events, the same
	absent       absence

	known int // servers that the URL names
}

// CheckURL refuses what names no servers. The error shows nothing of it: it may have a
// password.
func CheckURL(text string) error {
	for i, server := range strings.Split(text, ",") {
		server = strings.TrimSpace(server)
		if !strings.Contains(server, "://") {
			server = "nats://" + server
		}
		u, err := url.Parse(server)
		if err != nil || u.Hostname() == "" || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme) {
			return fmt.Errorf("server %d of it is not nats://[user:pass@]host:port (or tls, ws, wss); write / ? # %% @ : of a user and a password as %%2F and so on", i+1)
		}
	}
	return nil
}

// Connect dials until the server answers or ctx ends. Once connected, the
// connection is kept for good: it is dialled again for as long as it takes,
// and what is published meanwhile fails at once instead of being sent later.
func Connect(ctx context.Context, cfg Config) (*Queue, error) {
	q := &Queue{log: cfg.Log, known: 1 + strings.Count(cfg.URL, ",")}
	options := q.options(cfg)
	for {
		conn, err := nats.Connect(cfg.URL, options...)
		if err == nil {
			return q.use(conn)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("cannot connect to NATS: %w", errors.Join(err, ctx.Err()))
		case <-time.After(dialPause):
		}
	}
}

func (q *Queue) use(conn *nats.Conn) (*Queue, error) {
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(apiTimeout))
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("cannot use JetStream: %w", err)
	}
	q.conn, q.js = conn, js
	return q, nil
}

func (q *Queue) options(cfg Config) []nats.Option {
	return []nats.Option{
		nats.Name(cfg.Name),
		nats.Timeout(dialTimeout),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectWait, reconnectWait),
		// A buffered publish would be sent long after its caller was told that it failed.
		nats.ReconnectBufSize(-1),
		nats.PingInterval(pingInterval),
		nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if !q.closing.Load() {
				q.log.Warn("NATS disconnected", "error", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) {
			q.log.Info("NATS reconnected")
			if cfg.OnReconnected != nil {
				cfg.OnReconnected()
			}
		}),
		nats.ErrorHandler(q.asyncError),
		nats.ClosedHandler(func(*nats.Conn) {
			if !q.closing.Load() && cfg.OnClosed != nil {
				cfg.OnClosed()
			}
		}),
	}
}

func (q *Queue) asyncError(_ *nats.Conn, sub *nats.Subscription, err error) {
	subject := ""
	if sub != nil {
		subject = sub.Subject
	}
	q.log.Warn("NATS error", "subject", subject, "error", err)
}

// Ready reports whether the stream and the bucket are there.
func (q *Queue) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	if _, err := q.js.Stream(ctx, StreamName); err != nil {
		return fmt.Errorf("cannot find stream %s: %w", StreamName, err)
	}
	_, err := q.bucket(ctx)
	return err
}

// Flush waits until the server has read everything written so far, acks
// included. ctx needs a deadline.
func (q *Queue) Flush(ctx context.Context) error {
	if err := q.conn.FlushWithContext(ctx); err != nil {
		return fmt.Errorf("cannot flush: %w", err)
	}
	return nil
}

// Close ends the connection. OnClosed is not called.
func (q *Queue) Close() {
	q.closing.Store(true)
	q.conn.Close()
}
