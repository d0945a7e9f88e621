package loop

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/valyala/fasthttp"
)

const dialTimeout = 5 * time.Second

// AnswerTimeout is of one request.
const AnswerTimeout = 10 * time.Second

// Connection is one keep-alive connection. It writes requests that are ready and
// reads answers with fasthttp's parser: the least a client can cost, as it shares
// the machine with what it measures.
type Connection struct {
	conn   net.Conn
	reader *bufio.Reader
	Answer fasthttp.Response // to the last request
}

// Dial connects to a host:port.
func Dial(ctx context.Context, address string) (*Connection, error) {
	d := net.Dialer{Timeout: dialTimeout}
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot connect to %s: %w", address, err)
	}
	return &Connection{conn: conn, reader: bufio.NewReader(conn)}, nil
}

// Within sets the deadline of all requests until it is called again.
func (c *Connection) Within(d time.Duration) error {
	if err := c.conn.SetDeadline(time.Now().Add(d)); err != nil {
		return fmt.Errorf("cannot set deadline: %w", err)
	}
	return nil
}

// Do sends one request and reads its answer, which holds until the next call.
func (c *Connection) Do(request []byte) (status int, err error) {
	if _, err := c.conn.Write(request); err != nil {
		return 0, fmt.Errorf("cannot send request: %w", err)
	}
	if err := c.Answer.Read(c.reader); err != nil {
		return 0, fmt.Errorf("cannot read answer: %w", err)
	}
	return c.Answer.StatusCode(), nil
}

// Close ends the connection.
func (c *Connection) Close() { _ = c.conn.Close() } // all answers are read

// CloseAll ends connections.
func CloseAll(conns []*Connection) {
	for _, c := range conns {
		c.Close()
	}
}

// DialMany opens n connections.
func DialMany(ctx context.Context, address string, n int) ([]*Connection, error) {
	conns := make([]*Connection, 0, n)
	for range n {
		c, err := Dial(ctx, address)
		if err != nil {
			CloseAll(conns)
			return nil, err
		}
		conns = append(conns, c)
	}
	return conns, nil
}

// DialEach opens n connections, one to each server in turn: so each gets its part of a rate
// evenly.
func DialEach(ctx context.Context, urls []string, n int) ([]*Connection, error) {
	conns := make([]*Connection, 0, n)
	for k := range n {
		address, err := AddressOf(urls[k%len(urls)])
		if err == nil {
			var c *Connection
			if c, err = Dial(ctx, address); err == nil {
				conns = append(conns, c)
				continue
			}
		}
		CloseAll(conns)
		return nil, err
	}
	return conns, nil
}

// AddressOf is the host:port of a base URL.
func AddressOf(base string) (string, error) {
	u, err := url.Parse(base)
	if err != nil {
		return "", fmt.Errorf("cannot read url: %w", err)
	}
	return u.Host, nil
}
