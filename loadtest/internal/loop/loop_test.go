package loop

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/valyala/fasthttp"
)

func TestDialEach_SharesConnectionsBetweenServersInTurn(t *testing.T) {
	t.Parallel()
	var addresses []string
	for range 2 {
		listener, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts: nothing is asked
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { listener.Close() })
		addresses = append(addresses, listener.Addr().String())
	}
	conns, err := DialEach(t.Context(), []string{"http://" + addresses[0], "http://" + addresses[1]}, 5)
	if err != nil {
		t.Fatal(err)
	}
	defer CloseAll(conns)
	var got []string
	for _, c := range conns {
		got = append(got, c.conn.RemoteAddr().String())
	}
	first, second := addresses[0], addresses[1]
	if diff := cmp.Diff([]string{first, second, first, second, first}, got); diff != "" {
		t.Error(diff)
	}
}

// serve answers with a handler until the test ends.
func serve(t *testing.T, handler fasthttp.RequestHandler) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, served := NewServer(handler), make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), AnswerTimeout)
		defer cancel()
		if err := server.ShutdownWithContext(ctx); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return "http://" + listener.Addr().String()
}

func get(into []byte, _ int) []byte { return append(into, "GET / HTTP/1.1\r\nHost: sluice\r\n\r\n"...) }

func TestLoad_AtARateALatencyIsWithoutThePauseBeforeItsRequest(t *testing.T) {
	t.Parallel()
	const period = 200 * time.Millisecond
	url := serve(t, func(*fasthttp.RequestCtx) {})
	m, err := Load{URL: url, Connections: 1, Measured: 4 * period, PerSecond: float64(time.Second / period), Request: get, Want: http.StatusOK}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if m.Wanted != 4 || m.Summary.P50 >= float64(period.Milliseconds())/2 {
		t.Errorf("%d answers, half of them within %v ms of a server that answers at once", m.Wanted, m.Summary.P50)
	}
}

func TestLoad_AtARateWhatWasDueCountsHoweverLateItIsAnswered(t *testing.T) {
	t.Parallel()
	const period = 50 * time.Millisecond
	began := sync.OnceValue(time.Now)                                                                 // the first request
	url := serve(t, func(*fasthttp.RequestCtx) { <-time.After(time.Until(began().Add(8 * period))) }) // when all have been due
	m, err := Load{URL: url, Connections: 1, Measured: 4 * period, PerSecond: float64(time.Second / period), Request: get, Want: http.StatusOK}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Latencies) != 4 || m.PerSecond != 0 {
		t.Errorf("%d latencies of 4 requests, %v answers a second came in time", len(m.Latencies), m.PerSecond)
	}
}
