package httpapi

import (
	"testing"
)

// FuzzReadEvent reads the body of a webhook whose signature holds: the provider's bytes
// all the same.
func FuzzReadEvent(f *testing.F) {
	const good = `{"event_id":"evt_1","type":"payment.succeeded","order_id":"01935fd2-d6eb-7592-aa3e-cd665a5d9b60","amount":100,"currency":"CNY","occurred_at":"2026-12-01T10:00:00Z"`
	for _, seed := range []string{good + "}", good + `,"restock":true}`, good + `,"amount":1}`, good, "", "null", "[]", good + `,"x":1}`, `{"amount":1.5}`, `{"occurred_at":"+2026"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		event, bad := readEvent(body)
		if bad != nil {
			if bad.Status != 400 || bad.Field == "" || bad.Detail == "" {
				t.Errorf("%q is refused by %+v", body, bad)
			}
			return
		}
		if field, err := event.Validate(); err != nil {
			t.Errorf("%q is taken, and %s is wrong: %v", body, field, err)
		}
	})
}
