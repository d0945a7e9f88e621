package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/shared/auth"
	"sluice/shared/sale"
)

// inbox keeps events; err is what a stream that is away says.
type inbox struct {
	events []sale.PaymentEvent
	err    error
}

func (b *inbox) PublishPayment(ctx context.Context, e sale.PaymentEvent) error {
	if _, bounded := ctx.Deadline(); !bounded {
		return errors.New("published without a deadline")
	}
	if b.err == nil {
		b.events = append(b.events, e)
	}
	return b.err
}

func serveProvider(t *testing.T, b *inbox) string {
	t.Helper()
	signatures, err := auth.NewWebhookVerifier(key)
	if err != nil {
		t.Fatal(err)
	}
	return serveWith(t, fakeOrders{}, Provider{Signatures: signatures, Inbox: b})
}

const event = `{"event_id":"e-1","type":"payment.succeeded","order_id":"` + orderID + `","amount":199900,"currency":"CNY","occurred_at":"2026-12-01T17:59:58.5+08:00"}`

func sendEvent(t *testing.T, url, body string, signatures ...string) answer {
	t.Helper()
	return exchange(t, "POST", url+"/v1/payments/webhook", body, http.Header{auth.SignatureHeader: signatures})
}

func signed(body string) string { return auth.SignWebhook(key, []byte(body), now) }

func TestWebhook_SignedEventIsStoredBeforeItIsAnswered(t *testing.T) {
	t.Parallel()
	b := &inbox{}
	url := serveProvider(t, b)
	refund := strings.NewReplacer("payment.succeeded", "refund.succeeded", "}", `,"restock":true}`).Replace(event)
	for _, body := range []string{event, event, refund} {
		if a := sendEvent(t, url, body, signed(body)); a.status != 200 || a.body["event_id"] != "e-1" || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("answer %d %v", a.status, a.body)
		}
	}
	want := sale.PaymentEvent{EventID: "e-1", Type: sale.PaymentSucceeded, OrderID: orderID, AmountMinor: 199900, Currency: "CNY",
		OccurredAt: time.Date(2026, 12, 1, 9, 59, 58, 500_000_000, time.UTC)}
	restocked := want
	restocked.Type, restocked.Restock = sale.RefundSucceeded, true
	if diff := cmp.Diff([]sale.PaymentEvent{want, want, restocked}, b.events); diff != "" {
		t.Errorf("stored (-want +got)\n%s", diff)
	}
}

func TestWebhook_UnsignedOnesAreRefusedWhateverTheySay(t *testing.T) {
	t.Parallel()
	b := &inbox{}
	url := serveProvider(t, b)
	for name, signatures := range map[string][]string{
		"none": nil, "empty": {""}, "two": {signed(event), signed(event)}, "of another body": {signed(event + " ")},
		"of another key": {auth.SignWebhook([]byte(strings.Repeat("k", 32)), []byte(event), now)},
		"too old":        {auth.SignWebhook(key, []byte(event), now.Add(-301*time.Second))},
		"of the future":  {auth.SignWebhook(key, []byte(event), now.Add(301*time.Second))},
	} {
		a := sendEvent(t, url, event, signatures...)
		wantProblem(t, a, 401, "unauthenticated")
		if a.header.Get("WWW-Authenticate") != auth.SignatureHeader {
			t.Errorf("%s: WWW-Authenticate %q", name, a.header.Get("WWW-Authenticate"))
		}
	}
	wantProblem(t, sendEvent(t, url, "no json"), 401, "unauthenticated")
	wantProblem(t, sendEvent(t, url, strings.Repeat(" ", 9000), "x"), 413, "too-large")
	wantProblem(t, do(t, "GET", url+"/v1/payments/webhook"), 405, "method-not-allowed")
	if len(b.events) != 0 {
		t.Errorf("stored %+v", b.events)
	}
}

func TestWebhook_BadEventsNameTheField(t *testing.T) {
	t.Parallel()
	b := &inbox{}
	url := serveProvider(t, b)
	change := func(from, to string) string { return strings.Replace(event, from, to, 1) }
	for body, field := range map[string]string{
		"":                                 "body",
		"[]":                               "body",
		event + "x":                        "body",
		change(`"e-1"`, `""`):              "event_id",
		change(`"e-1"`, `"a b"`):           "event_id",
		change(`"e-1"`, `"`+"\\u0000"+`"`): "event_id",
		change(`"event_id"`, `"Event_id"`): "Event_id",
		change(`"event_id":"e-1",`, ""):    "event_id",
		change(`"event_id"`, `"event_id":"a","event_id"`): "event_id",
		change("payment.succeeded", "payment.made"):       "type",
		change(orderID, "order-1"):                        "order_id",
		change(orderID, strings.ToUpper(orderID)):         "order_id",
		change("199900", "-1"):                            "amount",
		change("199900", "1.5"):                           "amount",
		change("199900", `"199900"`):                      "amount",
		change("CNY", "yuan"):                             "currency",
		change("2026-12-01T17:59:58.5+08:00", "now"):      "occurred_at",
		change(`"2026-12-01T17:59:58.5+08:00"`, "1"):      "occurred_at",
		change("}", `,"restock":null}`):                   "restock",
		change("}", `,"restock":1}`):                      "restock",
		change("}", `,"note":""}`):                        "note",
	} {
		a := sendEvent(t, url, body, signed(body))
		wantProblem(t, a, 400, "invalid-request")
		if a.body["field"] != field {
			t.Errorf("%s: field %v, want %s (%v)", body, a.body["field"], field, a.body["detail"])
		}
	}
	if len(b.events) != 0 {
		t.Errorf("stored %+v", b.events)
	}
}

func TestWebhook_WithoutTheStreamAsksForTheEventAgain(t *testing.T) {
	t.Parallel()
	url := serveProvider(t, &inbox{err: errors.New("no stream")})
	a := sendEvent(t, url, event, signed(event))
	wantProblem(t, a, 503, "unavailable")
	if a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}
