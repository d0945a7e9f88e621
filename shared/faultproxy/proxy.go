package faultproxy

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"time"
)

// mode is what happens to what passes.
type mode int

const (
	healthy mode = iota
	cut
	losing // answers only
	frozen
	holding // requests of some clients
)

// Proxy forwards TCP connections to one server. Its methods may be called at any
// time, from anywhere; a fault holds for connections that are open and those to come.
type Proxy struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	mu      sync.Mutex
	mode    mode
	changed chan struct{} // closed and renewed when mode changes
	held    []byte        // what the clients begin with whose requests are held
	delay   time.Duration // of answers
	commits throttle
	links   map[*link]struct{}
	closed  bool
	lost    int64 // bytes of answers dropped
}

// Start listens on a free port of loopback and forwards to target, "host:port".
func Start(target string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("cannot start a proxy for %s: %w", target, err)
	}
	p := &Proxy{listener: listener, target: target, changed: make(chan struct{}), links: make(map[*link]struct{})}
	p.running.Go(p.accept)
	return p, nil
}

// StartFor is Start for a server's URL; it returns the same URL through the proxy.
func StartFor(serverURL string) (*Proxy, string, error) {
	u, err := url.Parse(serverURL)
	if err != nil {
		return nil, "", fmt.Errorf("cannot start a proxy: %w", err)
	}
	p, err := Start(u.Host)
	if err != nil {
		return nil, "", err
	}
	u.Host = p.Addr()
	return p, u.String(), nil
}

// Addr returns the "host:port" that clients connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Heal lets everything pass again. A connection that has lost answers would go on in
// the middle of one, so it is closed.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.set(healthy)
	p.delay, p.commits = 0, throttle{}
	for l := range p.links {
		if l.torn {
			l.close()
		}
	}
}

// Cut closes all connections and every new one.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.set(cut)
	p.closeLinks()
}

// LoseReplies forwards what clients send and drops what the server answers.
func (p *Proxy) LoseReplies() { p.become(losing) }

// Freeze leaves connections open and lets nothing pass either way, as when a cable
// is pulled; what is under way arrives once it is healed.
func (p *Proxy) Freeze() { p.become(frozen) }

// HoldRequests keeps back what those clients send whose first words contain text, as a
// client of NATS begins with its name; all that they are sent passes, and so does what others
// send. What was kept back arrives once it is healed, though the client may have gone.
func (p *Proxy) HoldRequests(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = []byte(text)
	p.set(holding)
}

// Delay makes every answer come this much later.
func (p *Proxy) Delay(by time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = by
}

// LimitCommits lets at most n explicit COMMITs a second through, of all connections
// together, evenly; what a connection sends after its COMMIT waits with it. 0, or less,
// is no limit. Statements outside a transaction are not counted.
func (p *Proxy) LimitCommits(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.commits.every, p.commits.next = 0, time.Time{}
	if n > 0 {
		p.commits.every = time.Second / time.Duration(n)
	}
}

// DelayCommits makes every explicit COMMIT arrive this much later, each by itself: it
// does not limit how many pass in a second. 0 is no delay.
func (p *Proxy) DelayCommits(by time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.commits.delay = by
}

// Lost is how many bytes of answers were dropped so far: a test whose fault never
// hit anything has shown nothing.
func (p *Proxy) Lost() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// Close ends all connections and frees the port.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.set(cut)
	p.closeLinks()
	p.mu.Unlock()
	err := p.listener.Close()
	p.running.Wait()
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("cannot close a proxy: %w", err)
	}
	return nil
}

func (p *Proxy) become(m mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.set(m)
}

func (p *Proxy) set(m mode) {
	p.mode = m
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Proxy) closeLinks() {
	for l := range p.links {
		l.close()
	}
}

// now returns the mode, and what is closed when it changes.
func (p *Proxy) now() (mode, time.Duration, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode, p.delay, p.changed
}

// holds reports whether requests of a client that began like this are kept back.
func (p *Proxy) holds(first []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode == holding && bytes.Contains(first, p.held)
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		p.running.Go(func() { p.serve(client) })
	}
}

// serve dials the server for a client, once anything may pass.
func (p *Proxy) serve(client net.Conn) {
	l := &link{proxy: p, client: client, ended: make(chan struct{})}
	if !p.add(l) {
		_ = client.Close()
		return
	}
	defer p.remove(l)
	defer l.close()
	if !l.awaitThaw() {
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil || !l.join(server) {
		return // the client sees its connection end
	}
	var requests sync.WaitGroup
	requests.Go(func() { l.forwardRequests() })
	l.forwardAnswers()
	requests.Wait()
}

func (p *Proxy) add(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.mode == cut {
		return false
	}
	p.links[l] = struct{}{}
	return true
}

func (p *Proxy) remove(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

// drop notes an answer that is not forwarded.
func (p *Proxy) drop(l *link, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.torn = true
	p.lost += int64(n)
}
