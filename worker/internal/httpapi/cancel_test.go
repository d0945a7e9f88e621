package httpapi

import (
	"errors"
	"strings"
	"testing"

	"sluice/shared/sale"
)

func cancelURL(url string) string { return url + "/v1/orders/" + orderID + "/cancel" }

func TestCancel_PendingAndAgain(t *testing.T) {
	t.Parallel()
	url := serve(t, fakeOrders{rows: map[string][]sale.BuyerOrder{"ann": {annsOrder(sale.OrderPending)}}})
	for range 2 {
		a := doWith(t, "POST", cancelURL(url), "{}", "Bearer "+tokenOf(t, "ann", now))
		if a.status != 200 || a.body["id"] != orderID || a.body["status"] != "cancelled" || a.body["pay_by"] != nil {
			t.Errorf("answer = %d %v", a.status, a.body)
		}
	}
}

func TestCancel_OfWhatIsPaidOrClosedSaysWhich(t *testing.T) {
	t.Parallel()
	for state, want := range map[sale.OrderState]string{
		sale.OrderPaid: "already-paid", sale.OrderExpired: "order-closed",
		sale.OrderRejected: "order-closed", sale.OrderRefunded: "order-closed",
	} {
		url := serve(t, fakeOrders{rows: map[string][]sale.BuyerOrder{"ann": {annsOrder(state)}}})
		a := do(t, "POST", cancelURL(url), "Bearer "+tokenOf(t, "ann", now))
		wantProblem(t, a, 409, want)
		if status, given := a.body["order_status"]; given != (want == "order-closed") || given && status != string(state) {
			t.Errorf("%s: order_status = %v", state, status)
		}
	}
}

func TestCancel_ForeignAbsentUnauthenticatedAndUnavailable(t *testing.T) {
	t.Parallel()
	url := serve(t, fakeOrders{rows: map[string][]sale.BuyerOrder{"ann": {annsOrder(sale.OrderPending)}}})
	wantProblem(t, do(t, "POST", cancelURL(url), "Bearer "+tokenOf(t, "bob", now)), 404, "no-such-order")
	wantProblem(t, do(t, "POST", url+"/v1/orders/nothing/cancel", "Bearer "+tokenOf(t, "ann", now)), 404, "no-such-order")
	wantProblem(t, do(t, "POST", cancelURL(url)), 401, "unauthenticated")
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		a := do(t, method, cancelURL(url), "Bearer "+tokenOf(t, "ann", now))
		wantProblem(t, a, 405, "method-not-allowed")
	}
	broken := serve(t, fakeOrders{err: errors.New("broken")})
	wantProblem(t, do(t, "POST", cancelURL(broken), "Bearer "+tokenOf(t, "ann", now)), 503, "unavailable")
}

func TestCancel_BodyIsEmptyOrAnEmptyObject(t *testing.T) {
	t.Parallel()
	orders := fakeOrders{rows: map[string][]sale.BuyerOrder{"ann": {annsOrder(sale.OrderPending)}}}
	url := serve(t, orders)
	token := "Bearer " + tokenOf(t, "ann", now)
	for body, field := range map[string]string{
		"null": "body", "[]": "body", `""`: "body", "{": "body", "{}x": "body", "{}{}": "body", " ": "body", "{a}": "body",
		`{"reason":1}`: "reason", `{"":1}`: "body", `{"` + strings.Repeat("é", 100) + `":1}`: strings.Repeat("é", 64) + "…",
	} {
		a := doWith(t, "POST", cancelURL(url), body, token)
		wantProblem(t, a, 400, "invalid-request")
		if a.body["field"] != field {
			t.Errorf("%.20q: field %v, want %s", body, a.body["field"], field)
		}
	}
	wantProblem(t, doWith(t, "POST", cancelURL(url), strings.Repeat(" ", maxBody)+"{}", token), 413, "too-large")
	if orders.rows["ann"][0].State != sale.OrderPending {
		t.Error("a refused request cancelled the order")
	}
	for _, body := range []string{"", "{}", " {\n} "} {
		if a := doWith(t, "POST", cancelURL(url), body, token); a.status != 200 {
			t.Errorf("%q: %d %v", body, a.status, a.body)
		}
	}
}
