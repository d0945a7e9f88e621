package hostile

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"sluice/shared/auth"
)

// Events are sent to a worker as the payment provider's, and are none: too large, unsigned,
// or signed and not to be read.
func (t Target) Events(random *rand.Rand) []Request {
	const post = "POST /v1/payments/webhook HTTP/1.1\r\nHost: x\r\n"
	var requests []Request
	for _, size := range sizes(random) {
		if size > mostBody { // what is smaller is asked for its signature
			requests = append(requests, sized(post, size), inChunks(post, size))
		}
	}
	event := func(field, value string) string {
		fields := map[string]string{"event_id": `"` + t.User + `"`, "type": `"payment.succeeded"`, "order_id": `"0192e4a0-7c3b-7def-8123-456789abcdef"`,
			"amount": "100", "currency": `"CNY"`, "occurred_at": `"2026-01-02T03:04:05Z"`}
		fields[field] = value
		return fmt.Sprintf(`{"event_id":%s,"type":%s,"order_id":%s,"amount":%s,"currency":%s,"occurred_at":%s}`,
			fields["event_id"], fields["type"], fields["order_id"], fields["amount"], fields["currency"], fields["occurred_at"])
	}
	good := event("type", `"payment.succeeded"`)
	signature := func(key, body string) string {
		return auth.SignatureHeader + ": " + auth.SignWebhook([]byte(key), []byte(body), time.Now()) + "\r\n"
	}
	strange := strings.Repeat("another key of the provider's. ", 2)
	requests = append(requests, all(map[string]string{
		"event: unsigned": withLength(post, good), "event: of another key": withLength(post+signature(strange, good), good),
		"event: signed for another": withLength(post+signature(t.Keys.Webhook, good+" "), good), "event: signature without its end": withLength(post+auth.SignatureHeader+": t=1,v1=\r\n", good),
	}, http.StatusUnauthorized, "unauthenticated")...)
	bad := map[string]string{
		"id of a NUL": event("event_id", `"`+t.User+`\u0000"`), "long id": event("event_id", `"`+t.User+strings.Repeat("e", 3000)+`"`), "no id": event("event_id", `""`), "number for an id": event("event_id", "7"),
		"odd order": event("order_id", `"`+t.User+`"`), "order of a NUL": event("order_id", `"\u0000"`), "another type": event("type", `"payment.imagined"`), "fraction": event("amount", "1.5"),
		"amount as text": event("amount", `"100"`), "amount below zero": event("amount", "-1"), "currency in words": event("currency", `"yuan"`), "another day": event("occurred_at", `"yesterday"`),
		"field twice": strings.Replace(good, `{`, `{"event_id":"`+t.User+`-b",`, 1), "unknown field": strings.Replace(good, `{`, `{"user":"`+t.User+`",`, 1), "more behind": good + "x",
	}
	for name, body := range almostEmpty(t.User) {
		bad[name] = body
	}
	for name, body := range bad {
		requests = append(requests, invalid(map[string]string{"event: " + name: withLength(post+signature(t.Keys.Webhook, body), body)})...)
	}
	return requests
}
