package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prometheus/client_golang/prometheus"
	"sluice/shared/auth"
	"sluice/shared/connections"
	"sluice/shared/openapitest"
	"sluice/shared/sale"
)

var (
	key = []byte("a secret of at least thirty-two bytes")
	now = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
)

const orderID = "0193a1b2-0000-7000-8000-000000000001"

// fakeOrders are rows by user, newest first; err is what a broken store says.
type fakeOrders struct {
	rows map[string][]sale.BuyerOrder
	err  error
}

func (f fakeOrders) OrdersOf(ctx context.Context, userID string, limit int) ([]sale.BuyerOrder, error) {
	if _, bounded := ctx.Deadline(); !bounded {
		return nil, errors.New("read without a deadline")
	}
	rows := f.rows[userID]
	return rows[:min(limit, len(rows))], f.err
}

func (f fakeOrders) OrderOf(_ context.Context, userID, id string) (sale.BuyerOrder, bool, error) {
	for _, o := range f.rows[userID] {
		if o.RID == id {
			return o, true, f.err
		}
	}
	return sale.BuyerOrder{}, false, f.err
}

// Cancel is as the rows': pending becomes cancelled.
func (f fakeOrders) Cancel(_ context.Context, userID, id string) (sale.BuyerOrder, bool, error) {
	for i, o := range f.rows[userID] {
		if o.RID == id {
			if o.State == sale.OrderPending {
				f.rows[userID][i].State = sale.OrderCancelled
			}
			return f.rows[userID][i], true, f.err
		}
	}
	return sale.BuyerOrder{}, false, f.err
}

func annsOrder(state sale.OrderState) sale.BuyerOrder {
	o := sale.BuyerOrder{SKU: "PHONE-1", Order: sale.Order{
		Reservation: sale.Reservation{RID: orderID, UserID: "ann", Slot: 1, Rank: 7},
		SaleID:      "phone", AmountMinor: 199900, Currency: "CNY", State: state,
		CreatedAt: now, PayBy: now.Add(15 * time.Minute),
	}}
	if state == sale.OrderRejected {
		o.Reason = sale.ReasonDuplicate
	}
	return o
}

// serve runs a real server over orders and returns its address.
func serve(t *testing.T, orders Orders) string {
	t.Helper()
	return serveWith(t, orders, Provider{})
}

func serveWith(t *testing.T, orders Orders, provider Provider) string {
	t.Helper()
	return serveBacking(t, Backing{Orders: orders, Provider: provider})
}

func serveBacking(t testing.TB, b Backing) string {
	t.Helper()
	return serveIn(t, 1000, b)
}

// serveIn has so many places for connections.
func serveIn(t testing.TB, places int, b Backing) string {
	t.Helper()
	verifier, err := auth.NewVerifier(auth.VerifierConfig{HS256Keys: [][]byte{key}, Issuer: "shop", Audience: "sluice"})
	if err != nil {
		t.Fatal(err)
	}
	b.Verifier, b.Now = verifier, func() time.Time { return now }
	log := slog.New(slog.DiscardHandler)
	server, err := Listen("127.0.0.1:0", connections.New(connections.Config{Most: places, Full: RefusedConnection()}, prometheus.NewRegistry()), New(b, log), log)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := server.Close(ctx); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return "http://" + server.Addr()
}

func tokenOf(t testing.TB, userID string, issued time.Time) string {
	t.Helper()
	token, err := auth.Mint(key, "shop", "sluice", userID, sale.Claims{}, issued, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

type answer struct {
	status      int
	header      http.Header
	contentType string
	body        map[string]any
}

// described is the document; what was seen of it is of no interest here.
func described(t *testing.T) *openapitest.Document {
	t.Helper()
	d, err := readOnce()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

var readOnce = sync.OnceValues(func() (*openapitest.Document, error) { return openapitest.Load("openapi.yaml") })

func do(t *testing.T, method, url string, authorizations ...string) answer {
	t.Helper()
	return doWith(t, method, url, "", authorizations...)
}

func doWith(t *testing.T, method, url, body string, authorizations ...string) answer {
	t.Helper()
	return exchange(t, method, url, body, http.Header{"Authorization": authorizations})
}

func exchange(t *testing.T, method, url, body string, header http.Header) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	e := openapitest.Exchange{Method: method, Target: req.URL.RequestURI(), Status: resp.StatusCode, Header: resp.Header, Body: raw}
	if err := described(t).Check(e); err != nil {
		t.Error(err)
	}
	a := answer{status: resp.StatusCode, header: resp.Header, contentType: resp.Header.Get("Content-Type")}
	if strings.HasSuffix(a.contentType, "json") && len(raw) > 0 {
		if err := json.Unmarshal(raw, &a.body); err != nil {
			t.Fatalf("body %q: %v", raw, err)
		}
	}
	return a
}

func wantProblem(t *testing.T, a answer, status int, name string) {
	t.Helper()
	if a.status != status || a.contentType != "application/problem+json" || a.body["type"] != "/problems/"+name {
		t.Errorf("answer = %d %s %v, want problem %d %s", a.status, a.contentType, a.body["type"], status, name)
	}
	if a.body["status"] != float64(status) || a.body["title"] == "" || a.body["detail"] == "" {
		t.Errorf("problem = %v", a.body)
	}
}

func TestOrders_ListsTheBuyersOwn(t *testing.T) {
	t.Parallel()
	url := serve(t, fakeOrders{rows: map[string][]sale.BuyerOrder{"ann": {annsOrder(sale.OrderPending)}}})

	a := do(t, "GET", url+"/v1/orders", "Bearer "+tokenOf(t, "ann", now))

	want := map[string]any{"orders": []any{map[string]any{
		"id": orderID, "sale": "phone", "sku": "PHONE-1", "status": "confirmed", "amount": 199900.0, "currency": "CNY",
		"pay_by": "2026-12-01T10:15:00Z", "created_at": "2026-12-01T10:00:00Z",
	}}}
	if diff := cmp.Diff(want, a.body); diff != "" || a.status != 200 || a.contentType != "application/json" {
		t.Errorf("%d %s (-want +got):\n%s", a.status, a.contentType, diff)
	}
	if a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("Cache-Control = %q", a.header.Get("Cache-Control"))
	}
	none := do(t, "GET", url+"/v1/orders", "bearer "+tokenOf(t, "bob", now))
	if diff := cmp.Diff(map[string]any{"orders": []any{}}, none.body); diff != "" || none.status != 200 {
		t.Errorf("of a buyer without orders: %d (-want +got):\n%s", none.status, diff)
	}
}

func TestOrder_StatusIsTheTicketsAndPayByIsForTheUnpaid(t *testing.T) {
	t.Parallel()
	for state, want := range map[sale.OrderState]string{
		sale.OrderPending: "confirmed", sale.OrderPaid: "paid", sale.OrderExpired: "expired",
		sale.OrderCancelled: "cancelled", sale.OrderRejected: "rejected", sale.OrderRefunded: "refunded",
	} {
		url := serve(t, fakeOrders{rows: map[string][]sale.BuyerOrder{"ann": {annsOrder(state)}}})
		a := do(t, "GET", url+"/v1/orders/"+orderID, "Bearer "+tokenOf(t, "ann", now))
		if a.status != 200 || a.body["status"] != want {
			t.Errorf("%s: %d, status %v, want %s", state, a.status, a.body["status"], want)
		}
		payBy, given := a.body["pay_by"]
		if !given || (payBy != nil) != (state == sale.OrderPending) {
			t.Errorf("%s: pay_by = %v", state, payBy)
		}
		if _, given := a.body["reason"]; given != (state == sale.OrderRejected) {
			t.Errorf("%s: reason = %v", state, a.body["reason"])
		}
	}
}

func TestOrder_ForeignAndAbsentAreTheSame(t *testing.T) {
	t.Parallel()
	url := serve(t, fakeOrders{rows: map[string][]sale.BuyerOrder{"ann": {annsOrder(sale.OrderPaid)}}})

	foreign := do(t, "GET", url+"/v1/orders/"+orderID, "Bearer "+tokenOf(t, "bob", now))
	absent := do(t, "GET", url+"/v1/orders/nothing", "Bearer "+tokenOf(t, "bob", now))

	wantProblem(t, foreign, 404, "no-such-order")
	if diff := cmp.Diff(absent.body, foreign.body); diff != "" {
		t.Errorf("they differ (-absent +foreign):\n%s", diff)
	}
}

func TestOrders_NeedOneValidToken(t *testing.T) {
	t.Parallel()
	url := serve(t, fakeOrders{})
	good := tokenOf(t, "ann", now)
	for name, headers := range map[string][]string{
		"none": nil, "empty": {""}, "no scheme": {good}, "basic": {"Basic " + good}, "forged": {"Bearer " + good + "x"},
		"expired": {"Bearer " + tokenOf(t, "ann", now.Add(-2*time.Hour))}, "two": {"Bearer " + good, "Bearer " + good},
	} {
		for _, path := range []string{"/v1/orders", "/v1/orders/" + orderID} {
			a := do(t, "GET", url+path, headers...)
			wantProblem(t, a, 401, "unauthenticated")
			if a.header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s: no challenge", name)
			}
		}
	}
}

func TestOrders_FaultOfTheStoreIsUnavailableAndSaysNothing(t *testing.T) {
	t.Parallel()
	url := serve(t, fakeOrders{err: errors.New("password of db.internal is wrong")})
	for _, path := range []string{"/v1/orders", "/v1/orders/" + orderID} {
		a := do(t, "GET", url+path, "Bearer "+tokenOf(t, "ann", now))
		wantProblem(t, a, 503, "unavailable")
		if a.header.Get("Retry-After") == "" || strings.Contains(a.body["detail"].(string), "internal") {
			t.Errorf("answer = %v %v", a.header, a.body)
		}
	}
}

func TestOrders_OtherMethodsAndPaths(t *testing.T) {
	t.Parallel()
	url := serve(t, fakeOrders{})
	bearer := "Bearer " + tokenOf(t, "ann", now)
	for _, path := range []string{"/v1/orders", "/v1/orders/" + orderID} {
		a := do(t, "POST", url+path, bearer)
		wantProblem(t, a, 405, "method-not-allowed")
		if a.header.Get("Allow") != "GET, HEAD" {
			t.Errorf("Allow = %q", a.header.Get("Allow"))
		}
	}
	for _, target := range []string{
		"/", "/v1/order", "/v1/orders/", "/v1/orders/" + orderID + "/", "/v1//orders", "//v1/orders", "/v1/./orders", "/v1/x/../orders", "/v1/orders/..",
		"/v1/%6frders", "/v1%2Forders", "/v1/orders/%2e", "/v1/orders/%00", "/v1/orders/a%2Fb", "/v1/orders/%ff", "/v1/orders/é", "/openapi.yaml/",
	} {
		wantProblem(t, do(t, "GET", url+target, bearer), 404, "not-found")
		wantProblem(t, do(t, "OPTIONS", url+target, bearer), 404, "not-found")
	}
	if a := do(t, "HEAD", url+"/v1/orders", bearer); a.status != 200 || a.body != nil {
		t.Errorf("HEAD: %d %v", a.status, a.body)
	}
}
