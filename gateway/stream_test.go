package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/shared/sale"
)

// stream is a stream of ticket events as its client has it.
type stream struct {
	g       *running
	target  string
	conn    net.Conn
	reader  *bufio.Reader
	answer  *http.Response
	events  chan ticketEvent // closed at the end
	alive   atomic.Int64     // comments
	retry   atomic.Int64     // milliseconds
	ended   error            // nil when the stream ended whole; there once events is closed
	seen    bytes.Buffer
	refusal answer // when it is none
}

type ticketEvent struct {
	id   string
	body map[string]any
}

func (e ticketEvent) status() string { s, _ := e.body["status"].(string); return s }

// follow opens a stream; what is no stream is in its refusal.
func (g *running) follow(ticket, user string, change ...func(*http.Request)) *stream {
	g.t.Helper()
	return g.followOver(g.dial(), ticket, user, change...)
}

func (g *running) followOver(conn net.Conn, ticket, user string, change ...func(*http.Request)) *stream {
	g.t.Helper()
	s := &stream{g: g, target: "/v1/tickets/" + ticket + "/events", conn: conn, reader: bufio.NewReader(conn), events: make(chan ticketEvent, 64)}
	req, err := http.NewRequest(http.MethodGet, g.url+s.target, nil)
	must(g.t, err)
	if user != "" {
		req.Header.Set("Authorization", "Bearer "+token(g.t, user, sale.Claims{}))
	}
	for _, c := range change {
		c(req)
	}
	must(g.t, req.Write(conn))
	s.answer, err = http.ReadResponse(s.reader, req)
	must(g.t, err)
	if s.answer.StatusCode != http.StatusOK {
		text, err := io.ReadAll(s.answer.Body)
		must(g.t, err)
		_ = conn.Close()
		s.refusal = g.checked(http.MethodGet, s.target, s.answer, text)
		return s
	}
	must(g.t, conn.SetDeadline(time.Time{})) // how long it lasts is what tests are about
	go s.read()
	g.t.Cleanup(s.close)
	return s
}

// read takes the stream apart until it ends.
func (s *stream) read() {
	defer close(s.events)
	lines := bufio.NewReader(io.TeeReader(s.answer.Body, &s.seen))
	var e ticketEvent
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			if err != io.EOF {
				s.ended = err
			}
			return
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch {
		case strings.HasPrefix(line, ":"):
			s.alive.Add(1)
		case field == "retry":
			var ms int64
			_, s.ended = fmt.Sscan(value, &ms)
			s.retry.Store(ms)
		case field == "id":
			e.id = value
		case field == "data":
			s.ended = json.Unmarshal([]byte(value), &e.body)
		case line == "\n" && e.body != nil:
			s.events <- e
			e = ticketEvent{}
		}
	}
}

// next is the next event; it fails the test when the stream ends before.
func (s *stream) next() ticketEvent {
	s.g.t.Helper()
	select {
	case e, ok := <-s.events:
		if !ok {
			s.g.t.Fatalf("the stream has ended (%v) after:\n%s", s.ended, s.seen.String())
		}
		return e
	case <-time.After(patience):
		s.g.t.Fatal("no event")
	}
	return ticketEvent{}
}

// expectNext wants the next event to show a status.
func (s *stream) expectNext(status string) ticketEvent {
	s.g.t.Helper()
	e := s.next()
	if e.status() != status {
		s.g.t.Fatalf("got %v, want %s", e.body, status)
	}
	return e
}

// expectEnd wants the stream to end whole, without another event, and holds all of it
// against the document.
func (s *stream) expectEnd() {
	s.g.t.Helper()
	select {
	case e, ok := <-s.events:
		if ok {
			s.g.t.Fatalf("one more event: %v", e.body)
		}
	case <-time.After(patience):
		s.g.t.Fatal("the stream does not end")
	}
	if s.ended != nil {
		s.g.t.Errorf("the stream is cut: %v", s.ended)
	}
	s.g.checked(http.MethodGet, s.target, s.answer, s.seen.Bytes())
}

func (s *stream) close() {
	_ = s.conn.Close()
	for range s.events { // until its reader has ended
	}
}

// pay does what a worker does with a payment.
func (s *stores) pay(t *testing.T, e sale.Entry, rid string) {
	t.Helper()
	_, _, err := s.stock.Settle(t.Context(), e.ID, e.Epoch, []sale.Settlement{{RID: rid, Status: sale.StatusPaid}})
	must(t, err)
	must(t, s.queue.NotifyResults(e.ID, []sale.Result{{RID: rid, Status: sale.StatusPaid}}))
}
