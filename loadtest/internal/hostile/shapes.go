package hostile

import (
	"net/http"
	"strings"
)

// Shapes are requests whose head cannot be, or has more than one reading.
func (t Target) Shapes() []Request {
	requests := invalid(t.doubled())
	for _, more := range [][]Request{invalid(t.controls()), invalid(t.ambiguous()), t.long(), t.notArriving()} {
		requests = append(requests, more...)
	}
	return append(requests, all(map[string]string{
		"two tokens":        t.head(strings.Repeat("Authorization: Bearer "+t.Token+"\r\n", 2)) + "\r\n",
		"two tokens, cased": t.head("authorization: Bearer "+t.Token+"\r\nAUTHORIZATION: Bearer "+t.Token+"\r\n") + "\r\n",
	}, http.StatusUnauthorized, "unauthenticated")...)
}

// doubled are headers that there may be one of.
func (t Target) doubled() map[string]string {
	key := "Idempotency-Key: " + t.User
	return map[string]string{
		"two keys":          t.mine() + key + "-a\r\n" + key + "-b\r\n\r\n",
		"two equal keys":    t.mine() + strings.Repeat(key+"\r\n", 2) + "\r\n",
		"two hosts":         t.mine() + "Host: y\r\n\r\n",
		"two equal hosts":   t.mine() + "Host: x\r\n\r\n",
		"two lengths":       t.mine() + "Content-Length: 2\r\nContent-Length: 90\r\n\r\n{}",
		"two equal lengths": t.mine() + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
		"list of lengths":   t.mine() + "Content-Length: 2, 2\r\n\r\n{}",
		"chunked twice":     t.mine() + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	}
}

// controls are characters that no head has.
func (t Target) controls() map[string]string {
	return map[string]string{
		"NUL in a path":               "POST " + t.orders() + "\x00 HTTP/1.1\r\nHost: x\r\n\r\n",
		"NUL in a header's name":      t.mine() + "X\x00: 1\r\n\r\n",
		"NUL in a header":             t.mine() + "X: a\x00b\r\n\r\n",
		"NUL in a key":                t.mine() + "Idempotency-Key: " + t.User + "\x00\r\n\r\n",
		"NUL in a token":              t.head("Authorization: Bearer "+t.Token+"\x00\r\n") + "\r\n",
		"NUL in a host":               "POST " + t.orders() + " HTTP/1.1\r\nHost: x\x00\r\n\r\n",
		"controls in a header":        t.mine() + "X: \x01\x7f\r\n\r\n",
		"carriage return in a header": t.mine() + "X: a\rContent-Length: 5\r\n\r\n",
		"key of high bytes":           t.mine() + "Idempotency-Key: " + t.User + "\xff\r\n\r\n",
		"empty key":                   t.mine() + "Idempotency-Key:\r\n\r\n",
		"no colon":                    t.mine() + "what\r\n\r\n",
	}
}

// ambiguous are requests in which another one hides, for whoever reads them differently.
func (t Target) ambiguous() map[string]string {
	inner := t.mine() + "Idempotency-Key: " + t.User + "\r\n\r\n"
	return map[string]string{
		"length before encoding":    t.mine() + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + inner,
		"encoding before length":    t.mine() + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + inner,
		"unknown encoding":          t.mine() + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + inner,
		"length with a sign":        t.mine() + "Content-Length: +2\r\n\r\n{}" + inner,
		"length that overflows":     t.mine() + "Content-Length: 18446744073709551618\r\n\r\n{}" + inner,
		"chunk with a minus":        t.mine() + "Transfer-Encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n" + inner,
		"chunk longer than it says": t.mine() + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}x\r\n0\r\n\r\n" + inner,
		"trailer with a token":      t.head("Transfer-Encoding: chunked\r\n") + "\r\n2\r\n{}\r\n0\r\nAuthorization: Bearer " + t.Token + "\r\n\r\n",
		"no host":                   "POST " + t.orders() + " HTTP/1.1\r\nAuthorization: Bearer " + t.Token + "\r\n\r\n",
		"HTTP/0.9":                  "POST " + t.orders() + "\r\n\r\n",
		"another protocol":          "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	}
}

// long are names beyond what there may be.
func (t Target) long() []Request {
	of := func(id string) string {
		return "POST /v1/sales/" + id + "/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + t.Token + "\r\n\r\n"
	}
	requests := all(map[string]string{
		"sale of 65": of(strings.Repeat("a", 65)), "sale of 4,000": of(strings.Repeat("a", 4000)), "sale in capitals": of(strings.ToUpper(t.Sale)), "star for a sale": of("*"), "sale in braces": of("{" + t.Sale + "}"),
	}, http.StatusNotFound, "no-such-sale")
	requests = append(requests, all(map[string]string{
		"NUL as a sale": of("%00"), "sale with a NUL": of(t.Sale + "%00"), "sale of dots": of("../" + t.Sale), "no sale": of(""),
	}, http.StatusNotFound, "not-found")...)
	key := func(n int) string {
		return t.mine() + "Idempotency-Key: " + t.User + strings.Repeat("k", n) + "\r\n\r\n"
	}
	requests = append(requests, invalid(map[string]string{"key of 65 and more": key(65), "key of 4,000": key(4000)})...)
	return append(requests, all(map[string]string{
		"key of 20,000":     key(20_000),
		"header of 1 MB":    t.mine() + "X: " + strings.Repeat("a", 1<<20) + "\r\n\r\n",
		"10,000 headers":    t.mine() + strings.Repeat("X: a\r\n", 10_000) + "\r\n",
		"path of 20,000":    "GET /v1/sales/" + strings.Repeat("a/", 10_000) + " HTTP/1.1\r\nHost: x\r\n\r\n",
		"trailer of 20,000": t.mine() + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX: " + strings.Repeat("a", 20_000) + "\r\n\r\n",
	}, http.StatusRequestEntityTooLarge, "too-large")...)
}

// notArriving are requests that end before they are whole.
func (t Target) notArriving() []Request {
	return all(map[string]string{
		"head without an end":  t.mine() + "X: 1\r\n",
		"less than the length": t.mine() + "Content-Length: 100\r\n\r\n{}",
		"no last chunk":        t.mine() + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
	}, http.StatusRequestTimeout, "request-timeout")
}
