package httpapi

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"sluice/shared/openapitest"
)

// bytesConn is a connection whose client has sent all that it ever will.
type bytesConn struct {
	sent   io.Reader
	got    bytes.Buffer
	closed chan struct{}
	once   sync.Once
}

func (c *bytesConn) Read(p []byte) (int, error)     { return c.sent.Read(p) }
func (c *bytesConn) Write(p []byte) (int, error)    { return c.got.Write(p) }
func (*bytesConn) LocalAddr() net.Addr              { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }
func (*bytesConn) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 4000} }
func (*bytesConn) SetDeadline(time.Time) error      { return nil }
func (*bytesConn) SetReadDeadline(time.Time) error  { return nil }
func (*bytesConn) SetWriteDeadline(time.Time) error { return nil }

func (c *bytesConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// conns is a listener in memory.
type conns chan net.Conn

func (c conns) Accept() (net.Conn, error) {
	if conn, ok := <-c; ok {
		return conn, nil
	}
	return nil, io.EOF
}
func (conns) Close() error   { return nil }
func (conns) Addr() net.Addr { return &net.TCPAddr{} }

// asked is a request as the server read it; of what is none it has the error alone.
type asked struct {
	method, target string
	unread         bool
}

// rawServer is the gateway's server, with a note of each request that it read.
type rawServer struct {
	listener conns
	mu       sync.Mutex
	asked    []asked
}

func newRawServer(f *testing.F) *rawServer {
	var s stores
	r := &rawServer{listener: make(conns)}
	server := NewServer(soldOutAPI(&s), 100)
	handle, refuse := server.Handler, server.ErrorHandler
	server.Handler = func(ctx *fasthttp.RequestCtx) {
		target := ctx.URI().PathOriginal()
		if bytes.IndexByte(ctx.RequestURI(), '#') >= 0 {
			target = ctx.RequestURI() // of which the path is but a part
		}
		r.note(asked{string(ctx.Method()), string(target), false})
		handle(ctx)
	}
	server.ErrorHandler = func(ctx *fasthttp.RequestCtx, err error) {
		r.note(asked{unread: true})
		refuse(ctx, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(r.listener) }()
	f.Cleanup(func() {
		close(r.listener)
		if err := <-ended; err != nil && !errors.Is(err, io.EOF) {
			f.Error(err)
		}
	})
	return r
}

func (r *rawServer) note(a asked) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, a)
}

// send has the server read raw from a connection, and returns what it understood and
// what it said, once it has hung up.
func (r *rawServer) send(t *testing.T, raw []byte) ([]asked, []byte) {
	t.Helper()
	r.mu.Lock()
	r.asked = nil
	r.mu.Unlock()
	c := &bytesConn{sent: bytes.NewReader(raw), closed: make(chan struct{})}
	r.listener <- c
	select {
	case <-c.closed:
	case <-time.After(30 * time.Second):
		t.Fatal("the server does not hang up though there is nothing to come")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked, c.got.Bytes()
}

// FuzzServer_AnswersRawBytesAsDescribed holds whatever the server says to any bytes
// against the document: an answer a request, each whole and framed right, and after what
// is no request none.
func FuzzServer_AnswersRawBytesAsDescribed(f *testing.F) {
	for _, seed := range rawSeeds() {
		f.Add([]byte(seed))
	}
	described, err := openapitest.Load("openapi.yaml")
	if err != nil {
		f.Fatal(err)
	}
	server := newRawServer(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		asked, said := server.send(t, raw)
		r := bufio.NewReader(bytes.NewReader(said))
		for i, a := range asked {
			if a.unread && i != len(asked)-1 {
				t.Fatalf("request %d of %d is none, and the server reads on", i, len(asked))
			}
			res, body := readAnswer(t, r, a.method)
			if a.unread && !res.Close {
				t.Error("the connection stays open behind what is no request")
			}
			target := targetOf(a.target)
			if target == "" && !a.unread {
				continue // a path that the document cannot speak of
			}
			e := openapitest.Exchange{Method: a.method, Target: target, Status: res.StatusCode, Header: res.Header, Body: body}
			if err := described.Check(e); err != nil {
				t.Error(err)
			}
		}
		if rest, _ := io.ReadAll(r); len(rest) > 0 {
			t.Errorf("said behind the last answer: %q", rest)
		}
	})
}

// readAnswer reads one answer to its end, past interim ones.
func readAnswer(t *testing.T, r *bufio.Reader, method string) (*http.Response, []byte) {
	t.Helper()
	for {
		res, err := http.ReadResponse(r, &http.Request{Method: method})
		if err != nil {
			t.Fatalf("the answer to %q cannot be read: %v", method, err)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatalf("the body of the answer to %q cannot be read: %v", method, err)
		}
		if res.StatusCode != http.StatusContinue {
			return res, body
		}
	}
}

// targetOf is the target if the document can say something about it; else "".
func targetOf(target string) string {
	control := strings.ContainsFunc(target, func(r rune) bool { return r <= ' ' || r >= 0x7f })
	if !strings.HasPrefix(target, "/") || strings.HasPrefix(target, "//") || control {
		return ""
	}
	return target
}

func rawSeeds() []string {
	attempt := "POST /v1/sales/phone/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a.b.c\r\n"
	read := "GET /v1/sales/phone HTTP/1.1\r\nHost: x\r\n"
	return []string{
		"", "\r\n\r\n", "GET", "hello\r\n\r\n", "GET / HTTP/1.0\r\n\r\n", "GET /\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		attempt + "\r\n", attempt + "Content-Length: 2\r\n\r\n{}", attempt + "Content-Length: 2\r\n\r\n{", attempt + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
		attempt + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", attempt + "Transfer-Encoding: chunked\r\n\r\n2;a=b\r\n{}\r\n0\r\nX: y\r\n\r\n",
		attempt + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", attempt + "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}", attempt + "Expect: 200-ok\r\nContent-Length: 2\r\n\r\n{}",
		attempt + "Content-Length: -1\r\n\r\n", attempt + "Content-Length: 99999\r\n\r\n{}", attempt + "Idempotency-Key: \"k\"\r\nIdempotency-Key: l\r\n\r\n", attempt + "Idempotency-Key: a\x00b\r\n\r\n",
		attempt + "Idempotency-Key:\r\n\tfolded\r\n\r\n", attempt + ": none\r\n\r\n", attempt + "Idempotency-Key : a\r\n\r\n", attempt + "X: " + strings.Repeat("x", maxHeaders) + "\r\n\r\n",
		read + "\r\n" + read + "\r\n", read + "Connection: close\r\n\r\n" + read + "\r\n", read + "If-None-Match: *\r\n\r\n", read + "If-None-Match: W/\"a\", \"b\"\r\nIf-None-Match: \"\r\n\r\n",
		read + "Accept-Language: zh-Hant;q=0.9, *;q=0\r\nX-Forwarded-For: 192.0.2.9, [::1]:80, x\r\n\r\n", "HEAD /v1/sales HTTP/1.1\r\nHost: x\r\n\r\n" + read + "\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", "GET http://x/v1/sales HTTP/1.1\r\nHost: y\r\n\r\n", "GET /v1/%73ales HTTP/1.1\r\nHost: x\r\n\r\n", "CONNECT x:80 HTTP/1.1\r\n\r\n",
		"GET /v1/tickets/x?wait=1&wait=2 HTTP/1.1\r\nHost: x\r\n\r\n", "DELETE /v1/sales/phone/orders HTTP/1.1\r\nHost: x\r\n\r\n", "get /v1/sales HTTP/1.1\nHost: x\n\n",
	}
}
