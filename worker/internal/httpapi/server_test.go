package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/shared/sale"
)

// slowOrders answer when they are let.
type slowOrders struct {
	fakeOrders
	asked, answer chan struct{}
}

func (s slowOrders) OrdersOf(context.Context, string, int) ([]sale.BuyerOrder, error) {
	s.asked <- struct{}{}
	<-s.answer
	return nil, nil
}

func dial(t *testing.T, address, text string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn
}

// status is of the next answer, and -1 if there is none.
func status(conn net.Conn) int {
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return -1
	}
	_ = response.Body.Close()
	return response.StatusCode
}

const readDescription = "GET /openapi.yaml HTTP/1.1\r\nHost: x\r\n\r\n"

func TestServer_KeepsWhoIsAnsweredAndRefusesWhoFindsNoPlace(t *testing.T) {
	t.Parallel()
	orders := slowOrders{asked: make(chan struct{}), answer: make(chan struct{})}
	address := serveIn(t, 1, Backing{Orders: orders})
	waits := dial(t, address, fmt.Sprintf("GET /v1/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", tokenOf(t, "ann", now)))
	<-orders.asked
	for began := time.Now(); time.Since(began) < 1200*time.Millisecond; { // longer than a client may be awaited when others come
		if got := status(dial(t, address, readDescription)); got != http.StatusServiceUnavailable {
			t.Fatalf("without a place: %d, want 503", got)
		}
	}
	close(orders.answer)
	if got := status(waits); got != http.StatusOK {
		t.Errorf("who has the place is answered %d, want 200", got)
	}
}

func TestServer_WhoSaysNothingOrSlowlyMakesRoom(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing":       "",
		"half a header": "GET /v1/ord",
		"half a body":   "POST /v1/payments/webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf",
		"no more":       readDescription,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := serveIn(t, 1, Backing{})
			first := dial(t, address, text)
			if text == readDescription && status(first) != http.StatusOK {
				t.Fatal("the first is not answered")
			}
			began := time.Now()
			for status(dial(t, address, readDescription)) != http.StatusOK { // it may be awaited for a second
				if time.Since(began) > 4*time.Second { // a request may take 5
					t.Fatal("nobody else finds a place")
				}
			}
			if got := status(first); got != -1 {
				t.Errorf("the first is answered %d, want its connection cut", got)
			}
		})
	}
}
