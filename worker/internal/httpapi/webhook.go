package httpapi

import (
	"context"
	"net/http"
	"time"

	"sluice/shared/auth"
	"sluice/shared/sale"
	"sluice/shared/strictjson"
)

// storeTimeout bounds the wait for the stream: the provider waits for the answer.
const storeTimeout = 3 * time.Second

// Provider is how events of the payment provider are believed and kept.
type Provider struct {
	Signatures interface {
		// Verify refuses what was not signed with a known key, by now.
		Verify(headers []string, body []byte, now time.Time) error
	}
	Inbox interface {
		// PublishPayment returns once the event is stored durably.
		PublishPayment(ctx context.Context, e sale.PaymentEvent) error
	}
}

// takeEvent is POST /v1/payments/webhook. What it answers 200 is stored, and nothing
// else is known of it yet: applying it is another's work. So an event that was sent
// before gets the same answer.
func (a *api) takeEvent(w http.ResponseWriter, r *http.Request) {
	body, bad := readBody(w, r)
	if bad != nil {
		bad.write(w)
		return
	}
	if err := a.Provider.Signatures.Verify(r.Header.Values(auth.SignatureHeader), body, a.Now()); err != nil {
		if a.refusals.Allow() {
			a.log.Warn("webhook refused", "error", err)
		}
		badSignature(w)
		return
	}
	event, bad := readEvent(body)
	if bad != nil {
		bad.write(w)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), storeTimeout) // whoever hangs up has sent it
	defer cancel()
	if err := a.Provider.Inbox.PublishPayment(ctx, event); err != nil {
		if a.faults.Allow() {
			a.log.Error("payment event not stored", "event", event.EventID, "error", err)
		}
		notStored(w)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	write(w, "application/json", http.StatusOK, struct {
		EventID string `json:"event_id"`
	}{event.EventID})
}

// readEvent reads a body that is believed.
func readEvent(body []byte) (sale.PaymentEvent, *problem) {
	var e sale.PaymentEvent
	field, err := strictjson.Decode(body, &e, "event_id", "type", "order_id", "amount", "currency", "occurred_at")
	if err != nil {
		return sale.PaymentEvent{}, invalidRequest(field, err.Error())
	}
	e.OccurredAt = e.OccurredAt.UTC()
	if field, err := e.Validate(); err != nil {
		return sale.PaymentEvent{}, invalidRequest(field, err.Error())
	}
	return e, nil
}
