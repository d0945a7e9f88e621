package main

import (
	"strings"
	"testing"

	"sluice/shared/sale"
)

// Every request here has more than one reading, or none: it is refused, the connection
// ends, and what an attacker hid in it is not carried out.
func TestAttacks_AmbiguousRequestsAreRefusedWhole(t *testing.T) {
	t.Parallel()
	a := newTarget(t)
	bearer := "Authorization: Bearer " + token(t, "eve", sale.Claims{}) + "\r\n"
	head := "POST " + a.orders() + " HTTP/1.1\r\nHost: x\r\n" + bearer
	inner := "POST " + a.orders() + " HTTP/1.1\r\nHost: x\r\n" + bearer + "Idempotency-Key: hidden\r\n\r\n"
	chunked := head + "Transfer-Encoding: chunked\r\n\r\n"
	end := "0\r\n\r\n"
	t.Cleanup(func() { a.expectNothingOf("eve") })
	var attacks []attack
	for name, text := range map[string]string{
		"length before encoding":       head + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + end + inner,
		"encoding before length":       head + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n" + end + inner,
		"encoding folded, and length":  head + "Content-Length: 5\r\nTransfer-Encoding:\r\n chunked\r\n\r\n" + end + inner,
		"unknown encoding":             head + "Transfer-Encoding: xchunked\r\n\r\n" + end + inner,
		"identity":                     head + "Transfer-Encoding: identity\r\n\r\n" + inner,
		"gzip, chunked":                head + "Transfer-Encoding: gzip, chunked\r\n\r\n" + end,
		"chunked, identity":            head + "Transfer-Encoding: chunked, identity\r\n\r\n" + end + inner,
		"chunked twice":                head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + end,
		"chunked, then identity":       head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n" + end + inner,
		"encoding behind a control":    head + "Transfer-Encoding: \x0bchunked\r\n\r\n" + end + inner,
		"encoding with a space":        head + "Transfer-Encoding : chunked\r\n\r\n" + end + inner,
		"encoding in HTTP/1.0":         strings.Replace(head, "1.1", "1.0", 1) + "Transfer-Encoding: chunked\r\n\r\n" + end,
		"two lengths":                  head + "Content-Length: 2\r\nContent-Length: 90\r\n\r\n{}" + inner,
		"two equal lengths":            head + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
		"list of lengths":              head + "Content-Length: 2, 2\r\n\r\n{}",
		"length with a sign":           head + "Content-Length: +2\r\n\r\n{}",
		"length in hexadecimal":        head + "Content-Length: 0x2\r\n\r\n{}",
		"empty length":                 head + "Content-Length: \r\n\r\n",
		"length that overflows":        head + "Content-Length: 18446744073709551618\r\n\r\n{}",
		"folded before all":            "POST " + a.orders() + " HTTP/1.1\r\n X: a\r\nHost: x\r\n" + bearer + "\r\n",
		"carriage return in a value":   head + "X: a\rContent-Length: 5\r\n\r\n",
		"two carriage returns":         head + "X: a\r\r\n\r\n",
		"extension with a line end":    chunked + "2;a=\"\r\n\"\r\n{}\r\n" + end,
		"extension with a line feed":   chunked + "2;a\n{}\r\n" + end,
		"chunks by line feeds":         chunked + "2\n{}\n0\n\n",
		"chunk with a plus":            chunked + "+2\r\n{}\r\n" + end,
		"chunk with a minus":           chunked + "-2\r\n{}\r\n" + end,
		"chunk with 0x":                chunked + "0x2\r\n{}\r\n" + end,
		"chunk behind a space":         chunked + " 2\r\n{}\r\n" + end,
		"chunk that overflows":         chunked + "10000000000000002\r\n{}\r\n" + end,
		"chunk longer than it says":    chunked + "2\r\n{}x\r\n" + end,
		"chunk without its end":        chunked + "2\r\n{}" + end,
		"chunk without a size":         chunked + "\r\n{}\r\n" + end,
		"trailer with a token":         "POST " + a.orders() + " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n" + bearer + "\r\n",
		"trailer with a length":        chunked + "2\r\n{}\r\n0\r\nContent-Length: 5\r\n\r\n",
		"trailer with an address":      chunked + "2\r\n{}\r\n0\r\nX-Forwarded-For: 203.0.113.9\r\n\r\n",
		"no host":                      "POST " + a.orders() + " HTTP/1.1\r\n" + bearer + "\r\n",
		"two hosts":                    head + "Host: y\r\n\r\n",
		"two equal hosts":              head + "Host: x\r\n\r\n",
		"empty host":                   "POST " + a.orders() + " HTTP/1.1\r\nHost:\r\n" + bearer + "\r\n",
		"host with a path":             "POST " + a.orders() + " HTTP/1.1\r\nHost: a b/../@c\r\n" + bearer + "\r\n",
		"tab before a colon":           head + "X\t: 1\r\n\r\n",
		"NUL in a name":                head + "X\x00: 1\r\n\r\n",
		"brackets in a name":           head + "X(y): 1\r\n\r\n",
		"no colon":                     head + "what\r\n\r\n",
		"controls in a value":          head + "X: \x01\x7f\r\n\r\n",
		"HTTP/0.9":                     "POST " + a.orders() + "\r\n\r\n",
		"another protocol":             "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"version with more behind":     "GET /v1/sales HTTP/1.1x\r\nHost: x\r\n\r\n",
		"version in lower case":        "GET /v1/sales http/1.1\r\nHost: x\r\n\r\n",
		"space in a path":              "GET /v1/sales HTTP/1.1 HTTP/1.1\r\nHost: x\r\n\r\n",
		"two spaces":                   "GET  /v1/sales  HTTP/1.1\r\nHost: x\r\n\r\n",
		"tabs for spaces":              "GET\t/v1/sales\tHTTP/1.1\r\nHost: x\r\n\r\n",
		"NUL in a path":                "GET /v1/sales\x00 HTTP/1.1\r\nHost: x\r\n\r\n",
		"backslashes":                  "GET \\v1\\sales HTTP/1.1\r\nHost: x\r\n\r\n",
		"path without a slash":         "GET v1/sales HTTP/1.1\r\nHost: x\r\n\r\n",
		"absolute path that is broken": "GET http://[::1/v1/sales HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		attacks = append(attacks, attack{name, "POST", "", text, 400, "invalid-request"})
	}
	for name, fields := range map[string]string{
		"a key": "Idempotency-Key: behind\r\n", "a user": "X-User: ada\r\n", "anything": "X: 1\r\n",
	} {
		attacks = append(attacks, attack{"trailer with " + name, "POST", a.orders(), chunked + "2\r\n{}\r\n0\r\n" + fields + "\r\n" + inner, 400, "invalid-request"})
	}
	for name, text := range map[string]string{
		"a trailer without end": chunked + "2\r\n{}\r\n0\r\nX: " + strings.Repeat("a", 20_000) + "\r\n\r\n",
		"a header without end":  head + "X: " + strings.Repeat("a", 20_000) + "\r\n\r\n",
		"a path without end":    "GET /v1/sales/" + strings.Repeat("a/", 10_000) + " HTTP/1.1\r\nHost: x\r\n\r\n",
		"chunks without end":    chunked + strings.Repeat("400\r\n"+strings.Repeat(" ", 1024)+"\r\n", 10),
	} {
		attacks = append(attacks, attack{name, "POST", "", text, 413, "too-large"})
	}
	for name, text := range map[string]string{
		"nothing but line feeds": strings.ReplaceAll(head, "\r\n", "\n") + "\n",
		"a head that never ends": head + "X: 1\r\n",
		"less than the length":   head + "Content-Length: 100\r\n\r\n{}",
		"no last chunk":          chunked + "2\r\n{}\r\n",
	} {
		attacks = append(attacks, attack{name, "POST", "", text, 408, "request-timeout"})
	}
	a.repel(t, attacks)
}

// What looks odd but has one reading is served: an attempt that was made before, so that
// each is a replay.
func TestAttacks_OddButClearRequestsAreServed(t *testing.T) {
	t.Parallel()
	a := newTarget(t)
	a.expectStatus(a.attempt(a.sale.ID, "bob"), 202)
	head := "POST " + a.orders() + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token(t, "bob", sale.Claims{}) + "\r\n"
	chunked := head + "Transfer-Encoding: chunked\r\n\r\n"
	var attacks []attack
	for name, text := range map[string]string{
		"encoding in capitals":       head + "Transfer-Encoding: CHUNKED\r\n\r\n0\r\n\r\n",
		"encoding behind a tab":      head + "Transfer-Encoding:\tchunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"extension":                  chunked + "2;a=b\r\n{}\r\n0\r\n\r\n",
		"long extension":             chunked + "2;" + strings.Repeat("a", 20_000) + "\r\n{}\r\n0\r\n\r\n",
		"length before spaces":       head + "Content-Length: 2  \r\n\r\n{}",
		"underscores are no dashes":  head + "Transfer_Encoding: chunked\r\nContent_Length: 90\r\nContent-Length: 2\r\n\r\n{}",
		"folded header of no use":    head + "X: a\r\n b\r\n\r\n",
		"line feed behind a header":  head + "X: a\nY: b\r\n\r\n",
		"empty lines before":         "\r\n\r\n" + head + "\r\n",
		"waits to be told to go on":  head + "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}",
		"expects what there is not":  head + "Expect: 200-ok\r\nContent-Length: 2\r\n\r\n{}",
		"asks for HTTP/2":            head + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
		"asks for a web socket":      head + "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
		"has its token dropped":      head + "Connection: Authorization\r\n\r\n",
		"names another host in full": strings.Replace(head, "POST ", "POST http://elsewhere", 1) + "\r\n",
	} {
		attacks = append(attacks, attack{name, "POST", a.orders(), text, 200, ""})
	}
	a.repel(t, attacks)
}

func TestAttacks_AbsurdTargetsAreNotFound(t *testing.T) {
	t.Parallel()
	a := newTarget(t)
	bearer := " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token(t, "eve", sale.Claims{}) + "\r\n"
	t.Cleanup(func() { a.expectNothingOf("eve") })
	var attacks []attack
	for name, path := range map[string]string{
		"fragment": "/v1/sales#x", "fragment behind an attempt": a.orders() + "#x", "high bytes": "/v1/sales\xff",
		"overlong slash": "/v1\xc0\xafsales", "authority": "//evil/v1/sales", "parameters": "/v1/sales;a=b", "dots": "/v1/../v1/sales", "encoded": "/v1/%73ales",
		"encoded twice": "/v1/%2573ales", "a colon": "/v1/sales:80", "long": "/v1/sales/" + strings.Repeat("a/", 3000), "a sale of dots": "/v1/sales/../orders",
	} {
		method := "GET"
		if strings.Contains(path, "orders") {
			method = "POST"
		}
		attacks = append(attacks, attack{name, method, path, method + " " + path + bearer + "\r\n", 404, "not-found"})
	}
	for name, sent := range map[string]string{
		"another method by a header": "GET " + a.orders() + bearer + "X-HTTP-Method-Override: POST\r\n\r\n",
		"a method nobody has":        strings.Repeat("G", 3000) + " " + a.orders() + bearer + "\r\n",
		"TRACE":                      "TRACE " + a.orders() + bearer + "Max-Forwards: 0\r\n\r\n",
		"a method in lower case":     "post " + a.orders() + bearer + "\r\n",
	} {
		attacks = append(attacks, attack{name, sent[:strings.IndexByte(sent, ' ')], a.orders(), sent, 405, "method-not-allowed"})
	}
	attacks = append(attacks,
		attack{"another path by a header", "POST", "/v1/sales", "POST /v1/sales" + bearer + "X-Original-URL: " + a.orders() + "\r\n\r\n", 405, "method-not-allowed"},
		attack{"CONNECT", "CONNECT", "x:443", "CONNECT x:443" + bearer + "\r\n", 404, "not-found"},
		attack{"long query", "GET", "/v1/sales", "GET /v1/sales?" + strings.Repeat("a&", 3000) + bearer + "\r\n", 200, ""},
		attack{"fragment behind a query", "GET", "/v1/sales", "GET /v1/sales?a#x" + bearer + "\r\n", 200, ""},
		attack{"many headers", "GET", "/v1/sales", "GET /v1/sales" + bearer + strings.Repeat("a:\r\n", 1500) + "\r\n", 200, ""},
		attack{"many ranges", "GET", "/v1/sales", "GET /v1/sales" + bearer + "Range: bytes=" + strings.Repeat("0-0,", 1000) + "0-0\r\n\r\n", 200, ""})
	a.repel(t, attacks)
}
