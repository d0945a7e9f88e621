package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"sluice/shared/auth"
	"sluice/shared/devstack"
	"sluice/shared/openapitest"
	"sluice/shared/sale"
)

// answer is what a buyer got.
type answer struct {
	status int
	header http.Header
	body   string
}

// ask sends a request to the listener for buyers, as a user unless that is "", and
// holds the answer against the document.
func (w *world) ask(buyers, method, target, user string, headers ...string) answer {
	w.t.Helper()
	return w.send(buyers, method, target, w.head(method, target, user, headers...))
}

// post is ask with a body.
func (w *world) post(buyers, target, user, body string, headers ...string) answer {
	w.t.Helper()
	return w.send(buyers, "POST", target, w.head("POST", target, user, append(headers, "Content-Length: "+strconv.Itoa(len(body)))...)+body)
}

// operate is post, to the ops listener, as an operator with the admin token.
func (w *world) operate(ops, method, target, body string, headers ...string) answer {
	w.t.Helper()
	headers = append(headers, "Authorization: Bearer "+adminToken, "Content-Length: "+strconv.Itoa(len(body)))
	return w.send(ops, method, target, w.head(method, target, "", headers...)+body)
}

func (w *world) head(method, target, user string, headers ...string) string {
	w.t.Helper()
	text := method + " " + target + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
	if user != "" {
		token, err := auth.Mint([]byte(testKey), testIssuer, testAudience, user, sale.Claims{}, time.Now(), time.Minute)
		w.must(err)
		text += "Authorization: Bearer " + token + "\r\n"
	}
	for _, h := range headers {
		text += h + "\r\n"
	}
	return text + "\r\n"
}

// send sends bytes as they are. The target is "" when they are not a request.
func (w *world) send(buyers, method, target, text string) answer {
	w.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(buyers, "http://"))
	w.must(err)
	defer func() { _ = conn.Close() }()
	w.must(conn.SetDeadline(time.Now().Add(patience)))
	_, err = io.WriteString(conn, text)
	w.must(err)
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	w.must(err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	w.must(err)
	if err := described.Check(openapitest.Exchange{
		Method: method, Target: target, Status: response.StatusCode, Header: response.Header, Body: body,
	}); err != nil {
		w.t.Error(err)
	}
	return answer{response.StatusCode, response.Header, string(body)}
}

func (w *world) wantAnswer(got answer, status int, part string) {
	w.t.Helper()
	if got.status != status || !strings.Contains(got.body, part) {
		w.t.Errorf("got %d %s, want %d with %s", got.status, got.body, status, part)
	}
}

func TestOpenAPI_EveryAnswerToABuyer(t *testing.T) {
	t.Parallel()
	postgres := ownServer(t, devstack.StartPostgres)
	w := newWorldOn(t, 10, serverURLs{redis: devstack.RedisForTest(t).URL(), postgres: postgres.URL()})
	p := w.startWorker("")
	buyers, _ := w.urlsOf(p)
	reserved := w.reserve(2)
	w.handOver(reserved)
	w.eventuallyAll(sale.StatusConfirmed, reserved)
	ann, other := reserved[0], reserved[1]

	w.wantAnswer(w.ask(buyers, "GET", "/v1/orders", ann.UserID), 200, ann.RID)
	w.wantAnswer(w.ask(buyers, "GET", "/v1/orders", "nobody"), 200, `{"orders":[]}`)
	w.wantAnswer(w.ask(buyers, "GET", "/v1/orders/"+ann.RID, ann.UserID), 200, ann.RID)
	w.wantAnswer(w.ask(buyers, "HEAD", "/v1/orders/"+ann.RID, ann.UserID), 200, "")
	for _, id := range []string{other.RID, "nothing", strings.ToUpper(ann.RID), strings.Repeat("x", 4000)} {
		w.wantAnswer(w.ask(buyers, "GET", "/v1/orders/"+id, ann.UserID), 404, "/problems/no-such-order")
	}
	for _, target := range []string{"/v1/orders", "/v1/orders/" + ann.RID} {
		w.wantAnswer(w.ask(buyers, "GET", target, ""), 401, "/problems/unauthenticated")
		w.wantAnswer(w.ask(buyers, "POST", target, ann.UserID), 405, "/problems/method-not-allowed")
	}
	for _, target := range []string{"/", "/v1/orders/", "/v1//orders", "/v1/x/../orders", "/v1/orders/%00", "/v1/orders/a%2Fb", "*"} {
		w.wantAnswer(w.ask(buyers, "OPTIONS", target, ann.UserID), 404, "/problems/not-found")
	}

	w.wantAnswer(w.ask(buyers, "GET", "/v1/orders/"+ann.RID+"/cancel", ann.UserID), 405, "/problems/method-not-allowed")
	w.wantAnswer(w.post(buyers, "/v1/orders/"+ann.RID+"/cancel", "", ""), 401, "/problems/unauthenticated")
	for body, status := range map[string]int{
		"null": 400, "[]": 400, "{": 400, "{}{}": 400, `{"reason":"none"}`: 400, `{"":1}`: 400, "x": 400, strings.Repeat(" ", 9000) + "{}": 413,
	} {
		w.wantAnswer(w.post(buyers, "/v1/orders/"+ann.RID+"/cancel", ann.UserID, body), status, "/problems/")
	}
	w.wantAnswer(w.ask(buyers, "GET", "/v1/orders/"+ann.RID, ann.UserID), 200, `"confirmed"`)
	w.wantAnswer(w.post(buyers, "/v1/orders/"+other.RID+"/cancel", ann.UserID, ""), 404, "/problems/no-such-order")
	for _, body := range []string{"", "{}", " { } "} {
		w.wantAnswer(w.post(buyers, "/v1/orders/"+ann.RID+"/cancel", ann.UserID, body), 200, `"cancelled"`)
	}
	for state, problem := range map[string]string{"paid": "already-paid", "expired": "order-closed", "refunded": "order-closed"} {
		execSQL(t, w.postgresURL, `UPDATE orders SET state = $2, holds_unit = $3 WHERE id = $1::text::uuid`, other.RID, state, state == "paid")
		w.wantAnswer(w.post(buyers, "/v1/orders/"+other.RID+"/cancel", other.UserID, "{}"), 409, "/problems/"+problem)
	}

	merchant := w.merchantKey("acme", sale.ScopeQuotes)
	w.must(postgres.Kill())
	w.eventually("keys cannot be checked", func() bool {
		return w.ask(buyers, "GET", "/v1/merchant", "", "Authorization: Bearer "+merchant).status == 503
	})
	for target, method := range map[string]string{
		"/v1/orders": "GET", "/v1/orders/" + ann.RID: "GET", "/v1/orders/" + ann.RID + "/cancel": "POST",
	} {
		var got answer
		w.eventually("the last connections are gone", func() bool {
			got = w.ask(buyers, method, target, ann.UserID)
			return got.status != 200
		})
		w.wantAnswer(got, 503, "/problems/unavailable")
	}
	w.must(postgres.Restart(w.context()))
	w.stopped(p)
}

func TestOpenAPI_IsServedAndCached(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	p := w.startWorker("")
	buyers, _ := w.urlsOf(p)
	file, err := os.ReadFile("internal/httpapi/openapi.yaml")
	w.must(err)
	got := w.ask(buyers, "GET", "/openapi.yaml", "")
	if got.status != 200 || got.body != string(file) || got.header.Get("Content-Type") != "application/yaml" {
		t.Errorf("got %d, %d bytes, %v", got.status, len(got.body), got.header)
	}
	tag := got.header.Get("ETag")
	for known, want := range map[string]int{tag: 304, "W/" + tag: 304, `"x", ` + tag: 304, "*": 304, `"x"`: 200} {
		w.wantAnswer(w.ask(buyers, "GET", "/openapi.yaml", "", "If-None-Match: "+known), want, "")
	}
	w.wantAnswer(w.ask(buyers, "DELETE", "/openapi.yaml", ""), 405, "/problems/method-not-allowed")
	w.stopped(p)
}

func TestRequest_ThatIsNoneIsToldSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	p := w.startWorker("")
	buyers, _ := w.urlsOf(p)
	head := "GET /v1/orders HTTP/1.1\r\nHost: x\r\n"
	for text, status := range map[string]int{
		"hello\r\n\r\n":                                         400,
		head + "NUL: \x00\r\n\r\n":                              400,
		head + "Content-Length: two\r\n\r\n":                    400,
		"GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n":                  400,
		"GET / HTTP/1.1\r\n\r\n":                                400,
		head + "Expect: a miracle\r\n\r\n":                      417,
		head + "X: " + strings.Repeat("x", 16<<10) + "\r\n\r\n": 431,
		head + "Transfer-Encoding: gzip\r\n\r\n":                501,
		"GET /v1/orders HTTP/3.0\r\nHost: x\r\n\r\n":            505,
	} {
		if got := w.send(buyers, "GET", "", text); got.status != status {
			t.Errorf("%.60q: %d %s, want %d", text, got.status, got.body, status)
		}
	}
	w.stopped(p)
}

func TestOpenAPI_WhoFindsNoPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	buyers, _ := w.urlsOf(w.startWorker("", "-max-connections", "1"))
	locks, err := pgx.Connect(w.context(), w.postgresURL)
	w.must(err)
	defer func() { _ = locks.Close(context.WithoutCancel(t.Context())) }()
	_, err = locks.Exec(w.context(), `BEGIN; LOCK TABLE orders`) // the answer has to wait for that
	w.must(err)
	first, err := net.Dial("tcp", strings.TrimPrefix(buyers, "http://"))
	w.must(err)
	defer func() { _ = first.Close() }()
	_, err = io.WriteString(first, strings.ReplaceAll(w.head("GET", "/v1/orders", "ann"), "Connection: close\r\n", ""))
	w.must(err)
	got := w.send(buyers, "GET", "", w.head("GET", "/v1/orders", "ann"))
	w.wantAnswer(got, 503, "/problems/busy")
	if got.header.Get("Retry-After") != "1" {
		t.Errorf("headers %v, want Retry-After: 1", got.header)
	}
}
