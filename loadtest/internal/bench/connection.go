package bench

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	dialTimeout   = 5 * time.Second
	answerTimeout = 10 * time.Second // of one request
)

// connection is one keep-alive connection. It writes requests that are ready and
// reads answers with fasthttp's parser: the least a client can cost, as it shares
// the machine with what it measures.
type connection struct {
	conn   net.Conn
	reader *bufio.Reader
	answer fasthttp.Response
}

func dial(ctx context.Context, address string) (*connection, error) {
	d := net.Dialer{Timeout: dialTimeout}
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot connect to %s: %w", address, err)
	}
	return &connection{conn: conn, reader: bufio.NewReader(conn)}, nil
}

// within sets the deadline of all requests until it is called again.
func (c *connection) within(d time.Duration) error {
	if err := c.conn.SetDeadline(time.Now().Add(d)); err != nil {
		return fmt.Errorf("cannot set deadline: %w", err)
	}
	return nil
}

// do sends one request and reads its answer, which holds until the next call.
func (c *connection) do(request []byte) (status int, err error) {
	if _, err := c.conn.Write(request); err != nil {
		return 0, fmt.Errorf("cannot send request: %w", err)
	}
	if err := c.answer.Read(c.reader); err != nil {
		return 0, fmt.Errorf("cannot read answer: %w", err)
	}
	return c.answer.StatusCode(), nil
}

func (c *connection) close() { _ = c.conn.Close() } // all answers are read

func closeConnections(conns []*connection) {
	for _, c := range conns {
		c.close()
	}
}

func dialMany(ctx context.Context, address string, n int) ([]*connection, error) {
	conns := make([]*connection, 0, n)
	for range n {
		c, err := dial(ctx, address)
		if err != nil {
			closeConnections(conns)
			return nil, err
		}
		conns = append(conns, c)
	}
	return conns, nil
}

// addressOf is the host:port of a base URL.
func addressOf(base string) (string, error) {
	u, err := url.Parse(base)
	if err != nil {
		return "", fmt.Errorf("cannot read url: %w", err)
	}
	return u.Host, nil
}
