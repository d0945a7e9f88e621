package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"sluice/shared/sale"
)

// taken is how many connections a gateway has.
func (g *running) taken() (n int) {
	g.t.Helper()
	_, metrics := g.opsGet("/metrics")
	_, after, _ := strings.Cut(metrics, "\nsluice_connections ")
	_, err := fmt.Sscan(after, &n)
	must(g.t, err)
	return n
}

// closed waits until the gateway has closed the connection. Meanwhile it sends a
// byte of more again and again, and does not read if unread.
func closed(t *testing.T, conn net.Conn, more string, unread bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if more != "" {
			if _, err := io.WriteString(conn, more[:1]); err != nil {
				return
			}
			more = more[1:] + more[:1]
		}
		if unread {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		must(t, conn.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
		if _, err := io.Copy(io.Discard, conn); !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
	}
	t.Error("it is not cut")
}

func TestSlowClients_AreCutAndTheirPlacesFree(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t, "-max-connections-per-address", "3")
	g.untilWarm(e.ID)
	head := "POST /v1/sales/" + e.ID + "/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token(t, "ada", sale.Claims{}) + "\r\n"
	slow := []struct{ name, first, more string }{
		{"header", head, "X: y\r\n"},
		{"body", head + "Content-Length: 8000\r\n\r\n", " "},
		{"nothing", "", ""},
	}
	var conns []net.Conn
	for _, c := range slow {
		conn := g.dial()
		defer conn.Close()
		_, err := io.WriteString(conn, c.first)
		must(t, err)
		conns = append(conns, conn)
	}
	g.until("three places are taken", func() bool { return g.taken() == 3 })
	g.expect(g.raw(http.MethodGet, "", ""), http.StatusTooManyRequests, "too-many-requests")
	done := make(chan struct{})
	for i, c := range slow {
		go func() {
			defer func() { done <- struct{}{} }()
			closed(t, conns[i], c.more, false)
		}()
	}
	for range slow {
		<-done
	}
	g.until("all places are free", func() bool { return g.taken() == 0 })
	g.expectStatus(g.raw(http.MethodGet, "/v1/sales", "GET /v1/sales HTTP/1.1\r\nHost: x\r\n\r\n"), http.StatusOK)
	s.expectUntouched(t, e)
}

func TestSlowClients_ThatDoNotReadAreCut(t *testing.T) {
	t.Parallel()
	g := sharedStores(t).startReady(t)
	conn := g.dial()
	defer conn.Close()
	must(t, conn.(*net.TCPConn).SetReadBuffer(4<<10))
	request := strings.Repeat("GET /openapi.yaml HTTP/1.1\r\nHost: x\r\n\r\n", 25)
	for range 20 { // 20 MB of answers: more than the kernel keeps for somebody who does not read
		must(t, conn.SetWriteDeadline(time.Now().Add(time.Second)))
		if _, err := io.WriteString(conn, request); err != nil {
			break
		}
	}
	must(t, conn.SetWriteDeadline(time.Time{}))
	g.until("its place is taken", func() bool { return g.taken() == 1 })
	g.until("its place is free", func() bool { return g.taken() == 0 })
	closed(t, conn, "G", true)
}

func TestConnections_OfOneAddressLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	g := sharedStores(t).startReady(t, "-max-connections-per-address", "2")
	dial := func(source string) net.Conn {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}, Timeout: patience}
		conn, err := d.Dial("tcp", strings.TrimPrefix(g.url, "http://"))
		must(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		must(t, conn.SetDeadline(time.Now().Add(patience)))
		_, err = io.WriteString(conn, "GET /v1/sales HTTP/1.1\r\nHost: x\r\n\r\n")
		must(t, err)
		return conn
	}
	g.expectStatus(g.read(dial("127.0.0.2"), http.MethodGet, "/v1/sales"), http.StatusOK)
	first := dial("127.0.0.2")
	g.expectStatus(g.read(first, http.MethodGet, "/v1/sales"), http.StatusOK)
	got := g.read(dial("127.0.0.2"), http.MethodGet, "")
	g.expect(got, http.StatusTooManyRequests, "too-many-requests")
	if got.header.Get("Retry-After") != "5" {
		t.Errorf("headers %v", got.header)
	}
	g.expectStatus(g.read(dial("127.0.0.3"), http.MethodGet, "/v1/sales"), http.StatusOK)
	must(t, first.Close())
	g.until("a place of the address is free", func() bool { return g.taken() == 2 })
	g.expectStatus(g.read(dial("127.0.0.2"), http.MethodGet, "/v1/sales"), http.StatusOK)
	_, metrics := g.opsGet("/metrics")
	if !strings.Contains(metrics, `sluice_connections_refused_total{reason="address"} 1`+"\n") {
		t.Error("the refused one is not counted")
	}
}

// Whoever holds every place without asking for anything makes room for who asks.
func TestConnections_SilentOnesMakeRoom(t *testing.T) {
	t.Parallel()
	g := sharedStores(t).startReady(t, "-max-connections", "20")
	for range 20 {
		conn := g.dial()
		defer conn.Close()
	}
	g.until("all places are taken", func() bool { return g.taken() == 20 })
	g.until("a newcomer is served", func() bool {
		return g.raw(http.MethodGet, "/v1/sales", "GET /v1/sales HTTP/1.1\r\nHost: x\r\n\r\n").status == http.StatusOK
	})
	_, metrics := g.opsGet("/metrics")
	if strings.Contains(metrics, "sluice_connections_cut_total 0\n") {
		t.Error("none was cut for it")
	}
}
