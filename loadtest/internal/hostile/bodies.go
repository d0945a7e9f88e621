package hostile

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
)

const (
	mostBody  = 8 << 10 // bytes that anybody reads
	largest   = 1 << 30 // bytes that are offered
	blockSize = 64 << 10
)

// Bodies are attempts with bodies that say something: of every size, and in every way
// almost an empty JSON object.
func (t Target) Bodies(random *rand.Rand) []Request {
	var requests []Request
	for _, size := range sizes(random) {
		requests = append(requests, sized(t.mine(), size), inChunks(t.mine(), size))
	}
	texts := make(map[string]string)
	for name, body := range almostEmpty(t.User) {
		texts["body: "+name] = withLength(t.mine(), body)
	}
	return append(requests, invalid(texts)...)
}

// sizes are one of each power of ten, the smallest and the largest among them.
func sizes(random *rand.Rand) []int64 {
	all := []int64{1, mostBody, mostBody + 1, largest}
	for low := int64(2); low < largest; low *= 10 {
		all = append(all, low+random.Int64N(min(9*low, largest-low)))
	}
	return all
}

func withLength(head, body string) string {
	return fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(body), body)
}

// sized is a request with a body of a length that it tells.
func sized(head string, size int64) Request {
	r := refusedBySize(fmt.Sprintf("%d bytes", size), size)
	r.Bytes = fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, size, strings.Repeat("x", int(size%blockSize)))
	r.Repeat, r.Times = strings.Repeat("x", blockSize), int(size/blockSize)
	return r
}

// inChunks is a request with a body whose length shows at its end.
func inChunks(head string, size int64) Request {
	const chunk = 4 << 10
	r := refusedBySize(fmt.Sprintf("%d bytes in chunks", size), size)
	r.Bytes = head + "Transfer-Encoding: chunked\r\n\r\n"
	if rest := size % chunk; rest > 0 {
		r.Bytes += fmt.Sprintf("%x\r\n%s\r\n", rest, strings.Repeat("x", int(rest)))
	}
	r.Repeat, r.Times = fmt.Sprintf("%x\r\n%s\r\n", chunk, strings.Repeat("x", chunk)), int(size/chunk)
	r.End = "0\r\n\r\n"
	return r
}

func refusedBySize(name string, size int64) Request {
	if size > mostBody {
		return Request{Name: name, Status: http.StatusRequestEntityTooLarge, Problem: "too-large"}
	}
	return Request{Name: name, Status: http.StatusBadRequest, Problem: "invalid-request"}
}

// almostEmpty are bodies that are no empty JSON object.
func almostEmpty(user string) map[string]string {
	return map[string]string{
		"half": "{", "other half": "}", "list": "[]", "nothing": "null", "text": `"{}"`, "number": "0", "in words": "empty",
		"a field": `{"quantity":2}`, "a user": `{"user_id":"` + user + `"}`, "field twice": `{"a":1,"a":1}`, "NUL as a name": `{"\u0000":1}`,
		"half a field": `{"a"`, "no value": `{"a":}`, "comma": "{,}", "two": "{} {}", "more behind": "{}x", "NUL behind": "{}\x00",
		"NUL": "\x00", "NULs": strings.Repeat("\x00", 4000), "byte order mark": "\ufeff{}", "no UTF-8": "{\"\xff\":1}", "no number": `{"a":NaN}`,
		"comment": "{/**/}", "single quotes": "{'a':1}", "deep": strings.Repeat("[", 8000), "deep objects": strings.Repeat(`{"a":`, 1500),
		"XML": "<a/>", "form": "quantity=2&user_id=" + user, "half a surrogate": `{"\ud800":1}`, "number that never ends": `{"a":` + strings.Repeat("9", 7000) + "}",
	}
}
