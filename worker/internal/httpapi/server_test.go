package httpapi

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/shared/sale"
	"sluice/worker/internal/merchants"
)

// slow answers when it is let, as buyers' orders and as merchants' keys: those are looked at
// before the body of the call is read.
type slow struct {
	fakeOrders
	asked, answer chan struct{}
}

func (s slow) wait() {
	s.asked <- struct{}{}
	<-s.answer
}

func (s slow) OrdersOf(context.Context, string, int) ([]sale.BuyerOrder, error) {
	s.wait()
	return nil, nil
}

func (s slow) Admit(context.Context, string) (sale.MerchantKey, error) {
	s.wait()
	return sale.MerchantKey{}, merchants.ErrUnknown
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

// probe asks over a connection of its own, and says with which status it is answered.
func probe(t *testing.T, address string) int {
	t.Helper()
	conn := dial(t, address, readDescription)
	defer conn.Close()
	return status(conn)
}

const probePause = 10 * time.Millisecond

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
	token := tokenOf(t, "ann", now)
	for name, c := range map[string]struct {
		request string
		status  int
	}{
		"a buyer":             {"GET /v1/orders HTTP/1.1\r\nAuthorization: Bearer " + token + "\r\n", http.StatusOK},
		"a buyer with a body": {"GET /v1/orders HTTP/1.1\r\nAuthorization: Bearer " + token + "\r\nContent-Length: 1\r\n", http.StatusOK},
		"a merchant":          {"POST /v1/quotes HTTP/1.1\r\nAuthorization: Bearer sk_1_secret\r\nContent-Length: 1\r\n", http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := slow{asked: make(chan struct{}), answer: make(chan struct{})}
			address := serveIn(t, 1, Backing{Orders: s, Merchants: s})
			waits := dial(t, address, c.request+"Host: x\r\nConnection: close\r\n\r\nx")
			<-s.asked
			for began := time.Now(); time.Since(began) < 1200*time.Millisecond; { // longer than a client may be awaited when others come
				if got := probe(t, address); got != http.StatusServiceUnavailable {
					t.Fatalf("without a place: %d, want 503", got)
				}
				time.Sleep(probePause)
			}
			close(s.answer)
			if got := status(waits); got != c.status {
				t.Errorf("who has the place is answered %d, want %d", got, c.status)
			}
		})
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
			for probe(t, address) != http.StatusOK { // it may be awaited for a second
				if time.Since(began) > 4*time.Second { // a request may take 5
					t.Fatal("nobody else finds a place")
				}
				time.Sleep(probePause)
			}
			if got := status(first); got != -1 {
				t.Errorf("the first is answered %d, want its connection cut", got)
			}
		})
	}
}
