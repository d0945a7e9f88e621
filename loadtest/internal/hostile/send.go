package hostile

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// patience is more than any request may take that does not arrive: five seconds.
const patience = 20 * time.Second

// Answer to a request.
type Answer struct {
	Status  int
	Problem string // the last part of its type; empty if it is none
	Body    string
	Sent    int64 // bytes of the request that somebody took
}

// Send sends a request to host:port and reads the first answer, which may come before the
// request has gone.
func Send(ctx context.Context, address string, r Request) (a Answer, err error) {
	d := net.Dialer{Timeout: patience}
	if r.From != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(r.From)}
	}
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return a, fmt.Errorf("cannot connect: %w", err)
	}
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return a, fmt.Errorf("cannot limit a connection: %w", err)
	}
	sent := make(chan int64, 1)
	go func() { sent <- r.write(conn) }()
	a, err = read(conn, r.method())
	_ = conn.Close() // ends the writing too
	a.Sent = <-sent
	return a, err
}

// write sends the request as far as somebody takes it.
func (r Request) write(w io.Writer) (sent int64) {
	put := func(text string) bool {
		n, err := io.WriteString(w, text)
		sent += int64(n)
		return err == nil
	}
	on := put(r.Bytes)
	for i := 0; on && i < r.Times; i++ {
		on = put(r.Repeat)
	}
	if on {
		put(r.End)
	}
	return sent
}

// read reads the first answer that is more than a leave to go on.
func read(conn net.Conn, method string) (a Answer, err error) {
	in := bufio.NewReader(conn)
	for {
		res, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil {
			return a, fmt.Errorf("no answer: %w", err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close() // the connection is closed after it
		if res.StatusCode == http.StatusContinue {
			continue
		}
		if err != nil {
			return a, fmt.Errorf("half an answer: %w", err)
		}
		return Answer{Status: res.StatusCode, Problem: problemOf(res, body), Body: string(body)}, nil
	}
}

// problemOf is the problem that an answer is.
func problemOf(res *http.Response, body []byte) string {
	var problem struct{ Type string }
	if res.Header.Get("Content-Type") != "application/problem+json" || json.Unmarshal(body, &problem) != nil {
		return ""
	}
	return strings.TrimPrefix(problem.Type, "/problems/")
}

// Differs says how an answer is not the one that there must be; empty if it is.
func (r Request) Differs(a Answer) string {
	if a.Status == r.Status && a.Problem == r.Problem {
		return ""
	}
	return fmt.Sprintf("answered %d %s, must be %d %s", a.Status, a.Problem, r.Status, r.Problem)
}
