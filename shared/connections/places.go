package connections

import (
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Config of the places.
type Config struct {
	Most       int    // connections at a time
	PerAddress int    // of one client; 0 is no bound
	Full       []byte // HTTP answer to who finds no place
	TooMany    []byte // HTTP answer to a client that has too many

	// Client is the client that an address counts for, with PerAddress: an IPv6 client has
	// many. It is the zero address for those who have no such bound, as proxies have the
	// connections of many clients.
	Client func(netip.Addr) netip.Addr
}

const (
	// patience is how long a client is awaited before its connection may be cut for
	// another one: longer than a request takes to arrive over a slow network.
	patience = time.Second

	drawn = 16 // connections, of which the longest awaited is cut
)

// Places are the connections of one listener. They are safe for concurrent use.
type Places struct {
	config  Config
	refusal refusals

	mu        sync.Mutex
	taken     []*Conn            // in no order
	addresses map[netip.Addr]int // connections by client address

	full, tooMany, cut prometheus.Counter
}

// New makes the places, all of them free.
func New(c Config, reg prometheus.Registerer) *Places {
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sluice_connections_refused_total", Help: "Connections that were answered 503 because all places were taken, or 429 because their address had too many.",
	}, []string{"reason"})
	p := &Places{config: c, refusal: newRefusals(), addresses: make(map[netip.Addr]int),
		full: refused.WithLabelValues("full"), tooMany: refused.WithLabelValues("address"),
		cut: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sluice_connections_cut_total", Help: "Connections without a request under way that were cut because all places were taken and somebody else came.",
		})}
	reg.MustRegister(refused, p.cut, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "sluice_connections", Help: "Connections of clients that are open.",
	}, func() float64 { return float64(p.Taken()) }))
	return p
}

// Taken is how many connections have a place.
func (p *Places) Taken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.taken)
}

// admit gives the connection a place, or says how it is refused.
func (p *Places) admit(inner net.Conn, now time.Time) (conn *Conn, refused []byte) {
	c := &Conn{Conn: inner, places: p, address: p.boundOf(inner)}
	c.awaited.Store(now.UnixNano())
	p.mu.Lock()
	if c.address.IsValid() && p.addresses[c.address] >= p.config.PerAddress {
		p.mu.Unlock()
		p.tooMany.Inc()
		return nil, p.config.TooMany
	}
	var victim *Conn
	if len(p.taken) >= p.config.Most {
		if victim = p.longestAwaited(now); victim == nil {
			p.mu.Unlock()
			p.full.Inc()
			return nil, p.config.Full
		}
		p.remove(victim)
	}
	p.add(c)
	p.mu.Unlock()
	if victim != nil {
		p.cut.Inc()
		_ = victim.Close() // whoever serves it finds it closed
	}
	return c, nil
}

// boundOf is the address that the connection counts for; the zero one for none.
func (p *Places) boundOf(inner net.Conn) netip.Addr {
	remote, ok := inner.RemoteAddr().(*net.TCPAddr)
	if !ok || p.config.PerAddress == 0 {
		return netip.Addr{}
	}
	return p.config.Client(remote.AddrPort().Addr())
}

// longestAwaited draws a few and claims the one that is awaited for longest, to be cut;
// nil if none is for long.
func (p *Places) longestAwaited(now time.Time) (longest *Conn) {
	since := now.Add(-patience).UnixNano()
	for i := range min(drawn, len(p.taken)) {
		if len(p.taken) > drawn {
			i = rand.IntN(len(p.taken))
		}
		c := p.taken[i]
		if awaited := c.awaited.Load(); awaited != answering && awaited <= since {
			longest, since = c, awaited
		}
	}
	if longest != nil && !longest.awaited.CompareAndSwap(since, cut) {
		return nil // its request has come
	}
	return longest
}

func (p *Places) add(c *Conn) {
	c.place = len(p.taken)
	p.taken = append(p.taken, c)
	if c.address.IsValid() {
		p.addresses[c.address]++
	}
}

// remove frees a place, by putting the last connection there. An address is kept
// only while it has connections.
func (p *Places) remove(c *Conn) {
	last := len(p.taken) - 1
	p.taken[c.place], p.taken[last].place = p.taken[last], c.place
	p.taken[last] = nil
	p.taken, c.place = p.taken[:last], gone
	if !c.address.IsValid() {
		return
	}
	if p.addresses[c.address]--; p.addresses[c.address] == 0 {
		delete(p.addresses, c.address)
	}
}

// leave frees the place of a connection, if it was not cut.
func (p *Places) leave(c *Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.place != gone {
		p.remove(c)
	}
}
