package pgstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrReplaced is of a server that was the primary once. Behind one host there is one server
// at a time; of several hosts an old primary may come back, or go on, and must not be used.
var ErrReplaced = errors.New("postgres was replaced by another primary")

// Primary tells the present primary from older ones by the timeline, which every promotion
// makes higher:
//
//	a connection to a higher timeline ──► it is the primary; connections to others are cut
//	a connection to a lower one ────────► ErrReplaced; the next host is tried
//
// So connections to a primary that hangs, whose calls would last until their deadlines, end
// as soon as any connection has met its successor. It is safe for concurrent use.
type Primary struct {
	mu       sync.Mutex
	timeline int64
	address  string              // IP and port where that timeline was met, which is tried first
	resolved map[string][]string // addresses of hosts, as last looked up
	conns    map[*pgx.Conn]heldConn
}

// heldConn is a connection of a pool.
type heldConn struct {
	timeline int64
	socket   net.Conn
}

// NewPrimary knows of no primary yet.
func NewPrimary() *Primary {
	return &Primary{conns: map[*pgx.Conn]heldConn{}, resolved: map[string][]string{}}
}

// hostsOf counts the hosts of a URL. One may be tried twice: with and without TLS.
func hostsOf(c *pgx.ConnConfig) int {
	seen := map[string]bool{net.JoinHostPort(c.Host, fmt.Sprint(c.Port)): true}
	for _, other := range c.Fallbacks {
		seen[net.JoinHostPort(other.Host, fmt.Sprint(other.Port))] = true
	}
	return len(seen)
}

// follow has a pool use the primary of several hosts, by what p knows, or a new one when
// it is nil.
func (p *Primary) follow(pc *pgxpool.Config) {
	c := pc.ConnConfig
	if p == nil {
		p = NewPrimary()
	}
	c.ConnectTimeout = hostTimeout
	wanted := c.ValidateConnect
	if wanted == nil { // a standby would do for nothing that a store does
		wanted = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	c.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		if err := wanted(ctx, conn); err != nil {
			return err
		}
		return p.compare(ctx, conn)
	}
	lookup := c.LookupFunc
	c.LookupFunc = func(ctx context.Context, host string) ([]string, error) {
		addresses, err := lookup(ctx, host)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.resolved[host] = addresses
		return addresses, err
	}
	pc.BeforeConnect = p.arrange
	checked := pc.AfterConnect
	pc.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		if checked != nil {
			if err := checked(ctx, conn); err != nil {
				return err
			}
		}
		return p.hold(conn)
	}
	pc.BeforeClose = forget
}

// arrange has the host of the present primary tried first: one that hangs takes hostTimeout.
func (p *Primary) arrange(_ context.Context, c *pgx.ConnConfig) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	hosts := append([]*pgconn.FallbackConfig{{Host: c.Host, Port: c.Port, TLSConfig: c.TLSConfig}}, c.Fallbacks...)
	slices.SortStableFunc(hosts, func(a, b *pgconn.FallbackConfig) int { return p.distance(a) - p.distance(b) })
	c.Host, c.Port, c.TLSConfig, c.Fallbacks = hosts[0].Host, hosts[0].Port, hosts[0].TLSConfig, hosts[1:]
	return nil
}

// distance is 0 for a host that is the present primary's, else 1. mu is held.
func (p *Primary) distance(h *pgconn.FallbackConfig) int {
	for _, ip := range append([]string{h.Host}, p.resolved[h.Host]...) {
		if net.JoinHostPort(ip, fmt.Sprint(h.Port)) == p.address {
			return 0
		}
	}
	return 1
}

// timelineQuery reads the timeline that a primary writes; 0 on a standby.
const timelineQuery = `
	SELECT CASE WHEN pg_is_in_recovery() THEN 0 ELSE ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int END`

// Of a connection's custom data.
const (
	timelineKey = "timeline"
	forgetKey   = "forget" // what has the Primary that holds the connection forget it
)

// compare refuses a server of a lower timeline, and leaves all others for one of a higher.
func (p *Primary) compare(ctx context.Context, conn *pgconn.PgConn) error {
	results, err := conn.Exec(ctx, timelineQuery).ReadAll()
	if err != nil {
		return fmt.Errorf("cannot read the timeline of postgres: %w", err)
	}
	timeline, err := strconv.ParseInt(string(results[0].Rows[0][0]), 10, 64)
	if err != nil {
		return fmt.Errorf("cannot read the timeline of postgres: %w", err)
	}
	conn.CustomData()[timelineKey] = timeline
	p.mu.Lock()
	defer p.mu.Unlock()
	if timeline < p.timeline {
		return p.replaced(timeline)
	}
	p.timeline, p.address = timeline, conn.Conn().RemoteAddr().String()
	for old, h := range p.conns {
		if h.timeline < timeline {
			delete(p.conns, old)
			go h.socket.Close() // its calls fail; with TLS it says good-bye, which may take its time
		}
	}
	return nil
}

// replaced is ErrReplaced for a server of a timeline. mu is held.
func (p *Primary) replaced(timeline int64) error {
	return fmt.Errorf("%w: this one writes timeline %d, and there was one of timeline %d: keep it from being started, or, if it was restored on purpose, start this process again",
		ErrReplaced, timeline, p.timeline)
}

// hold remembers a connection, unless its server was replaced while it was made.
func (p *Primary) hold(conn *pgx.Conn) error {
	timeline, _ := conn.PgConn().CustomData()[timelineKey].(int64)
	p.mu.Lock()
	defer p.mu.Unlock()
	if timeline < p.timeline {
		return p.replaced(timeline)
	}
	p.conns[conn] = heldConn{timeline, conn.PgConn().Conn()}
	conn.PgConn().CustomData()[forgetKey] = func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, conn)
	}
	return nil
}

// forget is called before a connection is closed, whatever it is to.
func forget(conn *pgx.Conn) {
	if does, held := conn.PgConn().CustomData()[forgetKey].(func()); held {
		does()
	}
}
