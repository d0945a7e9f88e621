package slowclients

import (
	"context"
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"sluice/loadtest/internal/wait"
)

const (
	trickle = time.Second     // between two bytes
	cycle   = 5 * time.Second // at least, from one connection of a slow client to its next
	dialed  = 5 * time.Second // at most
	unread  = 50              // one client of so many does not read: each costs the machine its buffers
)

// client is one that is slow, over one connection after the other.
type client struct {
	address string // of the gateway
	sale    string // that it pretends to attempt
	source  net.IP
	number  int
	seen    *tally
}

// run connects again and again until ctx ends.
func (c client) run(ctx context.Context) {
	for {
		next := time.Now().Add(cycle)
		if how := c.connect(ctx); how != failed || ctx.Err() == nil {
			c.seen.end(how)
		}
		if !wait.For(ctx, time.Until(next)) {
			return
		}
	}
}

// connect is slow over one connection and returns the status that it is answered
// before it is closed; cut when there is no answer, failed when it never stood.
func (c client) connect(ctx context.Context) string {
	d := net.Dialer{Timeout: dialed, LocalAddr: &net.TCPAddr{IP: c.source}}
	conn, err := d.DialContext(ctx, "tcp", c.address)
	if err != nil {
		return failed
	}
	defer conn.Close()
	c.seen.begin()
	first, rest := c.words(conn)
	if _, err := conn.Write([]byte(first)); err != nil {
		return cut
	}
	for i := 0; ctx.Err() == nil; i++ {
		if status, over := c.listen(conn); over {
			return status
		}
		if rest != "" {
			if _, err := conn.Write([]byte{rest[i%len(rest)]}); err != nil {
				return cut
			}
		}
	}
	return ended
}

// words are what a client says at once and what it says after it, a byte at a time.
func (c client) words(conn net.Conn) (first, rest string) {
	post := "POST /v1/sales/" + c.sale + "/orders HTTP/1.1\r\nHost: x\r\n"
	switch {
	case c.number%unread == 0:
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetReadBuffer(4 << 10) // or the kernel reads for it
		}
		return strings.Repeat("GET /openapi.yaml HTTP/1.1\r\nHost: x\r\n\r\n", 40), ""
	case c.number%3 == 0:
		return "", ""
	case c.number%3 == 1:
		return post, "X-Slow: slow\r\n"
	default:
		return post + "Content-Length: 8000\r\n\r\n", " "
	}
}

// listen waits for a while for an answer, or for the end.
func (c client) listen(conn net.Conn) (status string, over bool) {
	if c.number%unread == 0 {
		time.Sleep(trickle)
		_, err := conn.Write([]byte("G")) // shows whether it is closed
		return cut, err != nil
	}
	_ = conn.SetReadDeadline(time.Now().Add(trickle))
	var answer [64]byte
	n, err := conn.Read(answer[:])
	switch {
	case n > 0:
		return statusOf(string(answer[:n])), true
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "", false
	}
	return cut, true
}

func statusOf(answer string) string {
	_, rest, _ := strings.Cut(answer, " ")
	code, _, _ := strings.Cut(rest, " ")
	if _, err := strconv.Atoi(code); err != nil {
		return cut
	}
	return code
}
