package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"sluice/shared/auth"
	"sluice/shared/sale"
)

// Provider plays the payment provider, for tests and tools: it signs events and sends
// them to workers' webhooks. It is safe for concurrent use.
type Provider struct {
	Workers []string     // base urls; the next is asked when one fails
	Key     []byte       // that events are signed with
	HTTP    *http.Client // default http.DefaultClient
}

const webhookTimeout = 10 * time.Second

// Send sends an event to the n-th worker, once. A *Refusal says that the worker does
// not take it; after any other error it may be stored all the same.
func (p Provider) Send(ctx context.Context, n int, e sale.PaymentEvent) error {
	ctx, cancel := context.WithTimeout(ctx, webhookTimeout)
	defer cancel()
	body, err := webhookBody(e)
	if err != nil {
		return err
	}
	url := p.Workers[n%len(p.Workers)] + "/v1/payments/webhook"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("cannot send payment event: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(auth.SignatureHeader, auth.SignWebhook(p.Key, body, time.Now()))
	client := p.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("cannot send payment event: %w", err)
	}
	defer resp.Body.Close() // it was only read
	content, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("cannot send payment event: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return refusalOf(answer{status: resp.StatusCode, header: resp.Header, body: content})
	}
	return nil
}

// Deliver sends an event until a worker has stored it, as providers do: from the
// n-th worker on, until one refuses it for what it is, or ctx ends.
func (p Provider) Deliver(ctx context.Context, n int, e sale.PaymentEvent) error {
	for try := 0; ; try++ {
		err := p.Send(ctx, n+try, e)
		var refused *Refusal
		if err == nil || errors.As(err, &refused) && refused.Status < http.StatusInternalServerError {
			return err
		}
		if ended := sleep(ctx, pauseAfter(nil, try)); ended != nil {
			return errors.Join(err, ended)
		}
	}
}

func webhookBody(e sale.PaymentEvent) ([]byte, error) {
	body, err := json.Marshal(struct {
		EventID    string           `json:"event_id"`
		Type       sale.PaymentType `json:"type"`
		OrderID    string           `json:"order_id"`
		Amount     int64            `json:"amount"`
		Currency   string           `json:"currency"`
		OccurredAt time.Time        `json:"occurred_at"`
		Restock    bool             `json:"restock,omitempty"`
	}{e.EventID, e.Type, e.OrderID, e.AmountMinor, e.Currency, e.OccurredAt, e.Restock})
	if err != nil {
		return nil, fmt.Errorf("cannot write payment event: %w", err)
	}
	return body, nil
}
