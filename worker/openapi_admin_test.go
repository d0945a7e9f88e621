package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"log/slog"

	"sluice/shared/devstack"
	"sluice/shared/openapitest"
	"sluice/shared/pgstore"
	"sluice/shared/sale"
	"sluice/worker/internal/adminapi"
)

// calls are every call of the admin API, with a body that is right.
func (w *world) calls(saleID string, letter int64) map[string]string {
	at := "/admin/v1/sales/" + saleID
	calls := map[string]string{
		"GET " + at: "", "GET " + at + "/audit?wait=0": "",
		"POST " + at + "/stock": `{"adjustment_id":"a","delta":1}`,
		fmt.Sprintf("POST /admin/v1/dead-letters/%d/retry", letter): "",
		fmt.Sprintf("POST /admin/v1/dead-letters/%d/drop", letter):  "",
	}
	calls["POST /admin/v1/reconciliations"] = "{}"
	calls["POST /admin/v1/pace/pause"], calls["POST /admin/v1/pace/resume"] = "{}", "{}"
	calls["POST /admin/v1/templates"], calls["POST /admin/v1/templates/spring/copy"] = `{"id":"spring","kind":"percent","value":80,"total":5}`, `{"id":"copy"}`
	calls["POST /admin/v1/templates/spring/off-shelf"] = "{}"
	calls["POST /admin/v1/coupons/0199c3f4-7d2a-7c11-8e52-3b8f0f6d2a10/void"] = "{}"
	for _, list := range []string{"templates", "pace", "sales", "dead-letters", "audit-log", "reconciliations", "refunds-owed", "backlog", "alerts"} {
		calls["GET /admin/v1/"+list] = ""
	}
	calls["GET /admin/v1/ledger?from=2026-11-11&to=2026-11-12"] = ""
	for _, change := range []string{"pause", "resume", "close", "rebuild"} {
		calls["POST "+at+"/"+change] = "{}"
	}
	return calls
}

func (w *world) call(ops, methodAndTarget, body string, headers ...string) answer {
	w.t.Helper()
	method, target, _ := strings.Cut(methodAndTarget, " ")
	return w.operate(ops, method, target, body, headers...)
}

// newLetter writes the dead letter of a hand-over and returns its id.
func (w *world) newLetter(u pgstore.Unreadable) int64 {
	w.t.Helper()
	u.Cause = errors.New("unknown version")
	_, err := w.store.Bury(w.context(), u)
	w.must(err)
	letters, err := w.store.DeadLetters(w.context(), "", "", sale.Page{Limit: 1}, 1)
	w.must(err)
	return letters[0].ID
}

const letterHeader = "NATS/1.0\r\nSluice-Schema: 1\r\nSluice-Epoch: 1\r\nSluice-Count: 1\r\n\r\n"

func letterBody(r sale.Reservation) []byte {
	encoded, _ := json.Marshal([]sale.Reservation{r})
	return fmt.Appendf(nil, `{"price_minor":199900,"currency":"CNY","reservations":%s}`, encoded)
}

// addSale adds a sale that is not loaded.
func (w *world) addSale(id string) {
	w.t.Helper()
	config := w.entry.Sale
	config.ID, config.Titles = id, map[string]string{"zh": "手机"}
	_, err := w.store.Apply(w.context(), pgstore.Catalogue{Sales: []pgstore.SaleConfig{{Sale: config}}})
	w.must(err)
}

// owe writes down that a second payment of an order is to be refunded.
func (w *world) owe(rid, event, settledAt string) {
	w.t.Helper()
	execSQL(w.t, w.postgresURL, `
		WITH second AS (
			INSERT INTO payments (event_id, type, order_id, amount, currency, restock, occurred_at, result, applied_at)
			VALUES ($2, 'payment.succeeded', $1::text::uuid, 1, 'CNY', false, now(), 'owed', now())
		)
		INSERT INTO refunds_owed (event_id, order_id, amount, currency, reason, settled_at)
		VALUES ($2, $1::text::uuid, 1, 'CNY', 'second_payment', `+settledAt+`)`, rid, event)
}

func TestOpenAPI_EveryAnswerToAnOperator(t *testing.T) {
	t.Parallel()
	postgres, redis := ownServer(t, devstack.StartPostgres), ownServer(t, devstack.StartRedis)
	w := newWorldOn(t, 10, serverURLs{redis: redis.URL(), postgres: postgres.URL()})
	p, ops := w.startWithAdmin("")
	off := w.startWorker("") // without a token
	_, opsOff := w.urlsOf(off)
	at, stock := "/admin/v1/sales/"+w.entry.ID, "/admin/v1/sales/"+w.entry.ID+"/stock"
	reserved := w.reserve(2)
	w.handOver(reserved[:1])
	w.eventuallyAll(sale.StatusConfirmed, reserved[:1])

	// What a sale looks like, and its changes.
	w.wantAnswer(w.operate(ops, "GET", at, ""), 200, `"state":"open"`)
	w.wantAnswer(w.operate(ops, "HEAD", at, ""), 200, "")
	for range 2 {
		w.wantAnswer(w.operate(ops, "POST", at+"/pause", "", "Sluice-Operator: ada"), 200, `"paused":true`)
	}
	w.wantAnswer(w.operate(ops, "POST", at+"/resume", "{}"), 200, `"paused":false`)
	w.resumed()
	w.wantAnswer(w.operate(ops, "POST", stock, `{"adjustment_id":"more","delta":5}`), 200, `"applied"`)
	w.wantAnswer(w.operate(ops, "POST", stock, `{"adjustment_id":"less","delta":-100}`), 409, `"unsold":13`)
	w.wantAnswer(w.operate(ops, "POST", stock, `{"adjustment_id":"more","delta":6}`), 409, "/problems/adjustment-conflict")
	w.wantAnswer(w.operate(ops, "POST", stock, `{"adjustment_id":"most","delta":99999999}`), 409, "/problems/total-limit")
	w.wantAnswer(w.operate(ops, "GET", at+"/audit?wait=0", ""), 200, `"at_rest":false`)
	w.handOver(reserved[1:])
	w.eventuallyAll(sale.StatusConfirmed, reserved)
	w.wantAnswer(w.operate(ops, "GET", at+"/audit?wait=10", ""), 200, `{"verdict":{"pass":true,"violations":[]},"at_rest":true,"evidence":{"configured":10,"adjusted":5,"total":15,"held":2,"free":13,`)
	log := w.operate(ops, "GET", "/admin/v1/audit-log?limit=3&sale="+w.entry.ID, "")
	w.wantAnswer(log, 200, `"action":"stock-refused"`)
	var page struct {
		Changes []struct{ Operator, Address string }
		Next    int64
	}
	w.must(json.Unmarshal([]byte(log.body), &page))
	older := w.operate(ops, "GET", fmt.Sprintf("/admin/v1/audit-log?before=%d", page.Next), "")
	w.wantAnswer(older, 200, `"who":"admin","operator":"ada","address":"127.0.0.1","action":"pause","sale":"`+w.entry.ID+`","before":{"paused":false},"after":{"paused":true}}],"next":null}`)

	// Dead letters.
	attempts := w.reserve(2)
	good := w.newLetter(pgstore.Unreadable{SaleID: w.entry.ID, Epoch: 1, Sequence: 1001, Header: []byte(letterHeader), Body: letterBody(attempts[0])})
	w.wantAnswer(w.operate(ops, "GET", "/admin/v1/dead-letters?state=open&limit=1&sale="+w.entry.ID, ""), 200, `"kind":"hand_over"`)
	for range 2 {
		w.wantAnswer(w.operate(ops, "POST", fmt.Sprintf("/admin/v1/dead-letters/%d/retry", good), ""), 200, `"retried"`)
	}
	w.wantAnswer(w.operate(ops, "POST", fmt.Sprintf("/admin/v1/dead-letters/%d/drop", good), ""), 409, `"state":"retried"`)
	w.eventuallyAll(sale.StatusConfirmed, attempts[:1])
	known := w.newLetter(pgstore.Unreadable{SaleID: w.entry.ID, Epoch: 1, Sequence: 1002, Header: []byte(letterHeader), Body: letterBody(attempts[0])})
	w.wantAnswer(w.operate(ops, "POST", fmt.Sprintf("/admin/v1/dead-letters/%d/retry", known), ""), 409, "/problems/decided")
	broken := w.newLetter(pgstore.Unreadable{SaleID: w.entry.ID, Epoch: 1, Sequence: 1003, Header: []byte(letterHeader), Body: []byte("\x00{")})
	w.wantAnswer(w.operate(ops, "POST", fmt.Sprintf("/admin/v1/dead-letters/%d/retry", broken), ""), 409, "/problems/unreadable")
	for range 2 {
		w.wantAnswer(w.operate(ops, "POST", fmt.Sprintf("/admin/v1/dead-letters/%d/drop", broken), ""), 200, `"dropped"`)
	}
	w.wantAnswer(w.operate(ops, "POST", fmt.Sprintf("/admin/v1/dead-letters/%d/retry", broken), ""), 409, `"state":"dropped"`)
	execSQL(t, w.postgresURL, `INSERT INTO dead_letters (sale_id, epoch, sequence, rid, payload, reason) VALUES ($1, 1, 1004, $2::text::uuid, '{}', 'bad')`,
		w.entry.ID, newAttempt().RID)
	w.wantAnswer(w.operate(ops, "POST", fmt.Sprintf("/admin/v1/dead-letters/%d/retry", broken+1), ""), 409, "/problems/decided")
	w.wantAnswer(w.operate(ops, "GET", "/admin/v1/dead-letters", ""), 200, `"kind":"reservation"`)
	w.handOver(attempts[1:])
	w.eventuallyAll(sale.StatusConfirmed, attempts)

	// What waits: nothing any more.
	w.eventually("the backlog is served", func() bool {
		got := w.operate(ops, "GET", "/admin/v1/backlog", "")
		return got.status == 200 && strings.Contains(got.body, `"sale":"`+w.entry.ID+`","title":"Phone","waiting":0,"oldest":null,"age_seconds":0,"within_promise":true,"drain_rate":`)
	})

	// The pace.
	w.wantAnswer(w.operate(ops, "GET", "/admin/v1/pace", ""), 200, `"paused":false`)
	for range 2 {
		w.wantAnswer(w.operate(ops, "POST", "/admin/v1/pace/pause", "", "Sluice-Operator: ada"), 200, `{"paused":true,`)
	}
	w.wantAnswer(w.operate(ops, "POST", "/admin/v1/pace/resume", "{}"), 200, `{"paused":false,`)
	w.wantAnswer(w.operate(ops, "GET", "/admin/v1/audit-log?limit=2", ""), 200, `"action":"pace-pause","sale":"","before":{"paused":false},"after":{"paused":true}}]`)

	// Refunds that are owed.
	w.wantAnswer(w.operate(ops, "GET", "/admin/v1/refunds-owed", ""), 200, `{"refunds_owed":[]}`)
	w.owe(reserved[0].RID, "settled", "now()")
	w.owe(reserved[0].RID, "open", "NULL")
	w.wantAnswer(w.operate(ops, "GET", "/admin/v1/refunds-owed?limit=1", ""), 200,
		`{"refunds_owed":[{"event_id":"open","order_id":"`+reserved[0].RID+`","amount":1,"currency":"CNY","reason":"second_payment","created_at":"`)
	w.wantAnswer(w.operate(ops, "GET", "/admin/v1/refunds-owed", ""), 200, `"event_id":"settled"`)

	// The ledger.
	execSQL(t, w.postgresURL, `
		INSERT INTO coupon_ledger (coupon_id, cycle, user_id, order_id, part, part_id, party, amount, currency, event, at)
		VALUES (gen_random_uuid(), 1, 'u1', 'o1', 'line', 'l1', '=platform', 70, 'CNY', 'honour', '2026-11-11T12:00:00Z')`)
	const ledger = "/admin/v1/ledger?from=2026-11-11&to=2026-11-12"
	w.wantAnswer(w.operate(ops, "GET", ledger, ""), 200,
		`{"from":"2026-11-11T00:00:00Z","to":"2026-11-12T00:00:00Z","rows":[{"day":"2026-11-11","party":"=platform","currency":"CNY","given":70,"honoured":70,"reversed":0,"net":70}]}`)
	w.wantAnswer(w.operate(ops, "GET", ledger+"&format=csv", ""), 200, "\n2026-11-11,'=platform,CNY,70,70,0,70\n")

	// Alerts.
	w.eventually("the refund is an alert", func() bool {
		return strings.Contains(w.operate(ops, "GET", "/admin/v1/alerts", "").body, `"alert":"RefundOwed","state":"pending","severity":"ticket","summary":"1 payments`)
	})

	// What is wrong with a call.
	for call, body := range w.calls(w.entry.ID, known) {
		method, target, _ := strings.Cut(call, " ")
		target, _, _ = strings.Cut(target, "?")
		w.wantAnswer(w.send(ops, method, target, w.head(method, target, "")), 401, "/problems/unauthenticated")
		w.wantAnswer(w.call(ops, call, body, "Authorization: Bearer x"), 401, "/problems/unauthenticated")
		w.wantAnswer(w.operate(ops, "DELETE", target, ""), 405, "/problems/method-not-allowed")
		w.wantAnswer(w.call(ops, call, body, "Sluice-Operator: "+strings.Repeat("x", 65)), 400, `"field":"Sluice-Operator"`)
		if method == "GET" {
			w.wantAnswer(w.operate(ops, method, target+"?sort=id", ""), 400, `"field":"query"`)
			continue
		}
		w.wantAnswer(w.operate(ops, method, target, `{"x":1}`), 400, `"field":"x"`)
		w.wantAnswer(w.operate(ops, method, target, strings.Repeat(" ", 9000)), 413, "/problems/too-large")
	}
	for _, target := range []string{"/admin/", "/admin/v1", at + "/", "/admin/v1/sales/x%2Fy"} {
		w.wantAnswer(w.operate(ops, "GET", target, ""), 404, "/problems/not-found")
	}
	for query, field := range map[string]string{
		"audit-log?limit=0": "limit", "audit-log?limit=201": "limit", "audit-log?before=x": "before", "audit-log?sale=A": "sale", "audit-log?limit=1&limit=2": "limit",
		"audit-log?%zz": "query", "ledger": "from", "ledger?from=2026-11-11&to=x": "to", "refunds-owed?limit=201": "limit", "refunds-owed?before=1": "query", "dead-letters?state=gone": "state", "sales/" + w.entry.ID + "/audit?wait=31": "wait",
	} {
		w.wantAnswer(w.operate(ops, "GET", "/admin/v1/"+query, ""), 400, `"field":"`+field+`"`)
	}
	for body, field := range map[string]string{
		"": "body", `{"adjustment_id":"a"}`: "delta", `{"adjustment_id":"a","delta":0}`: "delta", `{"adjustment_id":"a","delta":100000001}`: "delta",
		`{"adjustment_id":"a b","delta":1}`: "adjustment_id", `{"adjustment_id":"","delta":1}`: "adjustment_id",
	} {
		w.wantAnswer(w.operate(ops, "POST", stock, body), 400, `"field":"`+field+`"`)
	}

	// Sales that are not there, not loaded, being rebuilt, over, retired.
	for call, body := range w.calls("nobody", 0) {
		want := "/problems/no-such-sale"
		switch {
		case strings.Contains(call, "dead-letters/"):
			want = "/problems/no-such-dead-letter"
		case !strings.Contains(call, "nobody"):
			continue
		}
		w.wantAnswer(w.call(ops, call, body), 404, want)
	}
	w.wantAnswer(w.operate(ops, "POST", "/admin/v1/dead-letters/x/drop", ""), 404, "/problems/no-such-dead-letter")
	w.wantAnswer(w.operate(ops, "GET", "/admin/v1/sales/"+strings.Repeat("x", 65), ""), 404, "/problems/no-such-sale")
	w.addSale("cold")
	w.wantAnswer(w.operate(ops, "GET", "/admin/v1/sales/cold", ""), 200, `"state":"not_loaded"`)
	w.wantAnswer(w.operate(ops, "GET", "/admin/v1/sales/cold", ""), 200, `"title":"Phone","titles":{"zh":"手机"}`)
	w.wantAnswer(w.operate(ops, "POST", "/admin/v1/sales/cold/stock", `{"adjustment_id":"b","delta":1}`), 409, "/problems/not-loaded")
	w.wantAnswer(w.operate(ops, "GET", "/admin/v1/sales/cold/audit", ""), 409, "/problems/not-loaded")
	w.wantAnswer(w.operate(ops, "POST", "/admin/v1/sales/cold/rebuild", ""), 409, "/problems/not-loaded")
	w.wantAnswer(w.operate(ops, "POST", at+"/close", ""), 200, `"state":"closed"`)
	w.eventuallyAcknowledged()
	for call, body := range w.operationsAfter(redis, ops, at, stock) {
		w.wantAnswer(w.call(ops, call, body), 503, "/problems/")
	}
	execSQL(t, w.postgresURL, `UPDATE sales SET rebuilding = false, retired = true WHERE sale_id = $1`, w.entry.ID)
	open := w.newLetter(pgstore.Unreadable{SaleID: w.entry.ID, Epoch: 1, Sequence: 1005, Header: []byte(letterHeader), Body: letterBody(sale.Reservation{})})
	for call, body := range w.calls(w.entry.ID, open) {
		method, target, _ := strings.Cut(call, " ")
		ofASale := strings.HasPrefix(target, "/admin/v1/sales/") || strings.HasSuffix(target, "/retry")
		if ofASale && (method == "POST" || strings.Contains(target, "/audit?")) {
			w.wantAnswer(w.call(ops, call, strings.Replace(body, `"a"`, `"new"`, 1)), 410, "/problems/retired")
		}
	}
	w.wantAnswer(w.operate(ops, "GET", "/admin/v1/sales", ""), 200, `"state":"retired"`)

	// Without a token, and without Postgres.
	for call, body := range w.calls(w.entry.ID, open) {
		w.wantAnswer(w.call(opsOff, call, body), 503, "/problems/no-admin-token")
	}
	w.stopped(off)
	w.must(postgres.Kill())
	for call, body := range w.calls(w.entry.ID, open) {
		if call == "GET /admin/v1/backlog" { // it is known from memory, when it matters most
			w.wantAnswer(w.call(ops, call, body), 200, `{"promise_seconds":30,"sales":[`)
			continue
		}
		if strings.HasSuffix(call, "/alerts") { // it asks no store
			w.wantAnswer(w.call(ops, call, body), 200, `{"alerts":[`)
			continue
		}
		w.eventually("the last connections are gone", func() bool { return w.call(ops, call, body).status == 503 })
	}
	w.must(postgres.Restart(w.context()))
	w.stopped(p)
}

// operationsAfter takes Redis away, then asks for a rebuild; the calls that it returns
// cannot be answered then.
func (w *world) operationsAfter(redis *devstack.Server, ops, at, stock string) map[string]string {
	w.t.Helper()
	w.must(redis.Kill())
	w.wantAnswer(w.operate(ops, "GET", at, ""), 200, `"redis_state":"unreachable","redis":null`)
	w.wantAnswer(w.operate(ops, "POST", stock, `{"adjustment_id":"later","delta":1}`), 202, `"pending"`)
	w.wantAnswer(w.operate(ops, "GET", at+"/audit?wait=0", ""), 503, "/problems/unavailable")
	w.wantAnswer(w.operate(ops, "POST", at+"/rebuild", ""), 202, `"state":"rebuilding"`)
	w.wantAnswer(w.operate(ops, "POST", at+"/rebuild", ""), 202, `"rebuilding":true`)
	return map[string]string{"POST " + stock: `{"adjustment_id":"new","delta":1}`, "GET " + at + "/audit": ""}
}

func TestAdmin_SaysThatItIsStarting(t *testing.T) {
	t.Parallel()
	api := adminapi.New(adminToken, slog.New(slog.DiscardHandler))
	for _, list := range []string{"sales", "backlog", "alerts"} { // the last two ask no store later on
		target := "/admin/v1/" + list
		request := httptest.NewRequest(http.MethodGet, target, nil)
		request.Header.Set("Authorization", "Bearer "+adminToken)
		recorded := httptest.NewRecorder()
		api.ServeHTTP(recorded, request)
		result := recorded.Result()
		body, err := io.ReadAll(result.Body)
		if err != nil || result.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%v: %s %s", err, result.Status, body)
		}
		if err := described.Check(openapitest.Exchange{Method: "GET", Target: target, Status: result.StatusCode, Header: result.Header, Body: body}); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenAPI_IsServedToOperatorsToo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	p, ops := w.startWithAdmin("")
	file, err := os.ReadFile("internal/httpapi/openapi.yaml")
	w.must(err)
	if got := w.ask(ops, "GET", "/openapi.yaml", ""); got.status != 200 || got.body != string(file) {
		t.Errorf("got %d, %d bytes", got.status, len(got.body))
	}
	w.stopped(p)
}

// A change reaches Redis and the catalogue by itself.
func TestAdmin_CloseEndsTheWindowEverywhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 10)
	p, ops := w.startWithAdmin("")
	reserved := w.reserve(3)
	w.wantAnswer(w.operate(ops, "POST", "/admin/v1/sales/"+w.entry.ID+"/close", ""), 200, `"state":"closed"`)
	w.eventually("Redis has the end of the window", func() bool {
		s, _, err := w.stock.Snapshot(w.context(), w.entry.ID, w.entry.Epoch)
		w.must(err)
		return s.ClosesAt.Before(time.Now())
	})
	_, decisions, err := w.stock.Reserve(w.context(), w.entry.ID, w.entry.Epoch, []sale.Attempt{newAttempt()})
	w.must(err)
	if decisions[0].Code != sale.DecidedClosed {
		t.Errorf("decided %d", decisions[0].Code)
	}
	w.handOver(reserved) // accepted before
	w.eventuallyAll(sale.StatusConfirmed, reserved)
	w.audit()
	w.stopped(p)
}
