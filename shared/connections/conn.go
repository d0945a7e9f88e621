package connections

import (
	"net"
	"net/netip"
	"sync/atomic"
	"time"
)

const (
	gone      = -1 // place of a connection that has none any more
	answering = 0  // awaited, of a client whose request is there
	cut       = -1 // awaited, of a client whose place went to another
)

// Conn is a connection that has a place, until it is closed.
type Conn struct {
	net.Conn
	places  *Places
	address netip.Addr // that it counts for; zero for none
	place   int        // among those taken; under the places' lock
	awaited atomic.Int64
	closed  atomic.Bool
}

// Answering says that the client's request is there in full: it is not awaited. False
// says that its place went to another in that moment: nobody would get the answer.
func (c *Conn) Answering() bool {
	since := c.awaited.Load()
	return since != cut && c.awaited.CompareAndSwap(since, answering)
}

// Awaiting says that the client has its answer, and its next request is awaited.
func (c *Conn) Awaiting() { c.awaited.Store(time.Now().UnixNano()) }

// Close closes the connection and frees its place, once.
func (c *Conn) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	err := c.Conn.Close()
	c.places.leave(c)
	return err
}

// CloseWrite says to the client that nothing more will come, and reads on: closed with
// something of its request unread, the connection might lose the answer.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// NetConn is the connection itself, for who needs its descriptor.
func (c *Conn) NetConn() net.Conn { return c.Conn }
