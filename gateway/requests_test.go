package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/shared/sale"
)

// raw sends bytes as they are and reads the one answer. The target is "" when they
// are not a request.
func (g *running) raw(method, target, bytes string) answer {
	g.t.Helper()
	conn := g.dial()
	defer conn.Close()
	_, err := io.WriteString(conn, bytes)
	must(g.t, err)
	return g.read(conn, method, target)
}

func (g *running) dial() net.Conn {
	g.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(g.url, "http://"))
	must(g.t, err)
	must(g.t, conn.SetDeadline(time.Now().Add(patience)))
	return conn
}

func (g *running) read(conn net.Conn, method, target string) answer {
	g.t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	must(g.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	must(g.t, err)
	return g.checked(method, target, res, text)
}

// expectUntouched fails if anything was reserved.
func (s *stores) expectUntouched(t *testing.T, e sale.Entry) {
	t.Helper()
	snap, handOff, err := s.stock.Snapshot(t.Context(), e.ID, e.Epoch)
	must(t, err)
	if snap.Stock != e.Total || snap.Accepted != 0 || snap.Rank != 0 || handOff.Count != 0 {
		t.Errorf("something was reserved: %+v", snap)
	}
}

func TestAttempt_TakesNoBodyButAnEmptyObject(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	for text, field := range map[string]string{
		`{"quantity":2}`:                          "quantity",
		`{"quantity":1,"quantity":1}`:             "quantity",
		`{"Quantity":1}`:                          "Quantity",
		`{"quantity"`:                             "quantity",
		`{"a":` + strings.Repeat("[", 4000):       "a",
		`{"":1}`:                                  "body",
		"{\"\xff\":1}":                            "\ufffd",
		"{\"a\\u0000b\":1}":                       "a\x00b",
		`{"` + strings.Repeat("k", 5000) + `":1}`: strings.Repeat("k", 64) + "…",
		"\ufeff{}":                                "body",
		"{\x00}":                                  "body",
		"{}\x00":                                  "body",
		"{}{}":                                    "body",
		"{},":                                     "body",
		"{,}":                                     "body",
		"{1:2}":                                   "body",
		"{":                                       "body",
		"null":                                    "body",
		"[]":                                      "body",
		`"{}"`:                                    "body",
		"0":                                       "body",
		strings.Repeat("[", 8000):                 "body",
		" \n":                                     "body",
		"quantity=2":                              "body",
		strings.Repeat("\x00", 100):               "body",
	} {
		got := g.attempt(e.ID, "ada", body(text))
		g.expect(got, http.StatusBadRequest, "invalid-request")
		if got.text("field") != field {
			t.Errorf("%.40q: field %q, want %q", text, got.text("field"), field)
		}
	}
	form := "--x\r\nContent-Disposition: form-data; name=\"quantity\"\r\n\r\n2\r\n--x--\r\n"
	got := g.attempt(e.ID, "ada", body(form), header("Content-Type", "multipart/form-data; boundary=x"))
	g.expect(got, http.StatusBadRequest, "invalid-request")
	if got.text("field") != "body" {
		t.Errorf("a form: %s", got.raw)
	}
	s.expectUntouched(t, e)
	for i, text := range []string{"", "{}", " {\n}\t"} {
		g.expectStatus(g.attempt(e.ID, fmt.Sprint("buyer-", i), body(text)), http.StatusAccepted)
	}
}

func TestAttempt_KeyIsPrintableASCII(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	for _, key := range []string{"", `""`, "k\tk", "ключ", "\x80", strings.Repeat("k", 65), `"` + strings.Repeat("k", 65) + `"`} {
		got := g.attempt(e.ID, "ada", header("Idempotency-Key", key))
		g.expect(got, http.StatusBadRequest, "invalid-request")
		if got.text("field") != "Idempotency-Key" {
			t.Errorf("key %q: %s", key, got.raw)
		}
	}
	s.expectUntouched(t, e)
}

func TestAttempt_TooLargeIsRefusedUnread(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	target := "/v1/sales/" + e.ID + "/orders"
	head := "POST " + target + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token(t, "ada", sale.Claims{}) + "\r\n"
	for name, rest := range map[string]string{
		"1 GB":                 "Content-Length: 1073741824\r\n\r\n",
		"a byte too many":      "Content-Length: 8193\r\n\r\n",
		"a chunk of 1 GB":      "Transfer-Encoding: chunked\r\n\r\n40000000\r\n",
		"headers":              "X: " + strings.Repeat("x", 9<<10) + "\r\n\r\n",
		"many headers":         strings.Repeat("X: x\r\n", 3000) + "\r\n",
		"1 GB of another verb": "Content-Length: 1073741824\r\n\r\n",
	} {
		method, text := http.MethodPost, head+rest
		if name == "1 GB of another verb" {
			method, text = http.MethodPut, strings.Replace(text, "POST", "PUT", 1)
		}
		if got := g.raw(method, target, text); got.status != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %d %s", name, got.status, got.raw)
		}
	}
	for _, path := range []string{"/v1/sales", "/openapi.yaml", "/nothing"} {
		g.expect(g.raw(http.MethodGet, "", "GET "+path+" HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("x", 9<<10)+"\r\n\r\n"), 413, "too-large")
	}
	s.expectUntouched(t, e)
}

func TestRequest_MalformedIsInvalid(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	head := "POST /v1/sales/" + e.ID + "/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token(t, "ada", sale.Claims{}) + "\r\n"
	for name, text := range map[string]string{
		"not HTTP":              "hello\r\n\r\n",
		"TLS":                   "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
		"no method":             " /v1/sales HTTP/1.1\r\nHost: x\r\n\r\n",
		"NUL in a header":       head + "Idempotency-Key: a\x00b\r\n\r\n",
		"NUL in a name":         head + "Idempotency\x00-Key: a\r\n\r\n",
		"negative length":       head + "Content-Length: -1\r\n\r\n",
		"length is no number":   head + "Content-Length: two\r\n\r\n",
		"length and chunks":     head + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"chunks and length":     head + "transfer-encoding: chunked\r\ncontent-length: 2\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"length, and as it is":  head + "Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}",
		"as it is":              head + "Transfer-Encoding: identity\r\n\r\n{}",
		"an unknown encoding":   head + "Transfer-Encoding: gzip\r\n\r\n{}",
		"two encodings":         head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"a list of encodings":   head + "Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"two equal lengths":     head + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
		"two hosts":             head + "Host: y\r\n\r\n",
		"two lengths":           head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
		"chunk is no number":    head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
		"space before a colon":  head + "Idempotency-Key : a\r\n\r\n",
		"header without a name": head + ": a\r\n\r\n",
	} {
		got := g.raw(http.MethodPost, "", text)
		if got.status != http.StatusBadRequest || got.text("type") != "/problems/invalid-request" {
			t.Errorf("%s: %d %s", name, got.status, got.raw)
		}
	}
	s.expectUntouched(t, e)
}

func TestRequest_ThatDoesNotArriveIsATimeout(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	for _, text := range []string{
		"GET /v1/sales HTTP/1.1\r\nHost:",
		"POST /v1/sales/" + e.ID + "/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{",
	} {
		t.Run(text[:4], func(t *testing.T) {
			t.Parallel()
			g := &running{t: t, url: g.url}
			g.expect(g.raw(http.MethodGet, "", text), http.StatusRequestTimeout, "request-timeout")
		})
	}
}

func TestConnections_OverTheLimitAreToldSo(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t, "-max-connections", "1")
	g.untilWarm(e.ID)
	ticket := g.attempt(e.ID, "ada", func(r *http.Request) { r.Close = true }).text("ticket")
	g.until("the place is free", func() bool { return g.taken() == 0 })
	waits := g.dial()
	defer waits.Close()
	_, err := fmt.Fprintf(waits, "GET /v1/tickets/%s?wait=20 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", ticket, token(t, "ada", sale.Claims{}))
	must(t, err)
	g.until("it waits", func() bool {
		_, metrics := g.opsGet("/metrics")
		return strings.Contains(metrics, "sluice_ticket_waiters 1\n")
	})
	got := g.raw(http.MethodGet, "", "GET /v1/sales HTTP/1.1\r\nHost: x\r\n\r\n")
	g.expect(got, http.StatusServiceUnavailable, "busy")
	if got.header.Get("Retry-After") != "1" {
		t.Errorf("headers %v", got.header)
	}
}

func TestPaths_HaveOneSpelling(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	ticket := g.attempt(e.ID, "ada").text("ticket")
	for _, target := range []string{
		"/index.html", "//", "/./", "/local", "/local/", "/local/token/", "/local//token", "/v1", "/v1/", "/v2/sales", "/V1/sales", "/v1/Sales", "/v1/sales/", "/v1/sales/" + e.ID + "/", "/v1/sales/" + e.ID + "/tickets",
		"/v1/sales/" + e.ID + "/tickets/", "/v1/sales/" + e.ID + "/tickets/me/", "/v1/sales/" + e.ID + "/orders/", "/v1/sales/" + e.ID + "/orders/x",
		"/v1/sales/" + e.ID + "/nothing", "/v1/tickets", "/v1/tickets/", "/v1/tickets/" + ticket + "/", "/v1/tickets/" + ticket + "/events/",
		"/v1/tickets/" + ticket + "/Events", "/v1/tickets/" + ticket + "/event", "/v1/tickets//events", "/v1/tickets/" + ticket + "//events", "/v1/tickets/" + ticket + "/events/events",
		"/v1//sales", "//v1/sales", "/v1/sales//" + e.ID, "/v1/sales//orders", "/v1/./sales", "/v1/sales/.", "/v1/x/../sales", "/v1/sales/x/../" + e.ID, "/v1/sales/..",
		"/../v1/sales", "/v1/%73ales", "/v1%2Fsales", "/v1/sales%2F" + e.ID, "/v1/sales/" + e.ID + "%2Ftickets%2Fme", "/v1/sales/%2e%2e/sales",
		"/v1/sales/" + e.ID + "%00", "/v1/tickets/%2e", "/openapi.yaml/", "/openapi.yml", "/openapi%2Eyaml",
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodOptions} {
			text := method + " " + target + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token(t, "ada", sale.Claims{}) + "\r\n\r\n"
			if got := g.raw(method, target, text); got.status != http.StatusNotFound || got.text("type") != "/problems/not-found" {
				t.Errorf("%s %s: %d %s", method, target, got.status, got.raw)
			}
		}
	}
	g.expect(g.raw(http.MethodOptions, "*", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"), http.StatusNotFound, "not-found")
	got := g.raw(http.MethodGet, "/v1/sales", "GET http://elsewhere/v1/sales HTTP/1.1\r\nHost: x\r\n\r\n")
	g.expectStatus(got, http.StatusOK)
}

func TestMethods_OfEveryPath(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t, "-address-rate", "0.01", "-address-burst", "1")
	g.untilWarm(e.ID)
	ticket := g.attempt(e.ID, "ada").text("ticket")
	for path, allow := range map[string]string{
		"/": "GET, HEAD", "/local/token": "POST", "/local/payment": "POST", "/openapi.yaml": "GET, HEAD", "/v1/sales": "GET, HEAD", "/v1/sales/" + e.ID: "GET, HEAD", "/v1/sales/nothing": "GET, HEAD",
		"/v1/sales/" + e.ID + "/orders": "POST", "/v1/sales/" + e.ID + "/tickets/me": "GET, HEAD", "/v1/tickets/" + ticket: "GET, HEAD",
	} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "get"} {
			text := method + " " + path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token(t, "ada", sale.Claims{}) + "\r\n\r\n"
			got := g.raw(method, path, text)
			if strings.Contains(allow, method) == (got.status == http.StatusMethodNotAllowed) {
				t.Errorf("%s %s: %d", method, path, got.status)
			}
			if got.status == http.StatusMethodNotAllowed && got.header.Get("Allow") != allow {
				t.Errorf("%s %s: Allow is %s, want %s", method, path, got.header.Get("Allow"), allow)
			}
		}
		if allow == "GET, HEAD" {
			plain := header("Accept-Encoding", "identity") // which Go asks for with HEAD, but not with GET
			get, head := g.do("GET", path, "ada", plain), g.do("HEAD", path, "ada", plain)
			for again := g.do("GET", path, "ada", plain); again.header.Get("ETag") != get.header.Get("ETag"); {
				// Another test began or ended a sale in between.
				get, head, again = again, g.do("HEAD", path, "ada", plain), g.do("GET", path, "ada", plain)
			}
			if head.status != get.status || head.raw != "" || head.header.Get("ETag") != get.header.Get("ETag") {
				t.Errorf("HEAD %s: %d %v, GET has %d %v", path, head.status, head.header, get.status, get.header)
			}
		}
	}
}
