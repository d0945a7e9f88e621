package jetqueue

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"sluice/shared/sale"
)

func FuzzDecodePayment(f *testing.F) {
	event := sale.PaymentEvent{EventID: "evt_1", Type: sale.PaymentSucceeded, OrderID: "01935fd2-d6eb-7592-aa3e-cd665a5d9b60", AmountMinor: 100,
		Currency: "CNY", OccurredAt: time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)}
	msg, err := encodePayment(event)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(schemaVersion, msg.Data)
	f.Add("", msg.Data)
	f.Add(schemaVersion, []byte(`{"event_id":"a","amount":1e3}`))
	f.Add(schemaVersion, []byte(`[]`))
	f.Fuzz(func(t *testing.T, schema string, data []byte) {
		e, err := decodePayment(nats.Header{headerSchema: {schema}}, data)
		if err != nil {
			if !errors.Is(err, ErrUnreadable) {
				t.Fatalf("error does not wrap ErrUnreadable: %v", err)
			}
			return
		}
		msg, err := encodePayment(e)
		if err != nil {
			t.Fatalf("decoded what cannot be encoded: %v", err)
		}
		if again, err := decodePayment(msg.Header, msg.Data); err != nil || again != e {
			t.Errorf("%+v is decoded again as %+v, %v", e, again, err)
		}
	})
}
