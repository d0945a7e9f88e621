package bench

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"sluice/shared/sale"
)

// ticket is what a buyer of this bench holds.
type ticket struct {
	buyer     int
	name      string
	status    sale.Status
	pollAfter time.Duration // as last told
	readAt    time.Time
}

// readTicket reads an answer that is a ticket and has just come.
func readTicket(buyer int, body []byte) (ticket, error) {
	var t struct {
		Ticket      string      `json:"ticket"`
		Status      sale.Status `json:"status"`
		PollAfterMS int64       `json:"poll_after_ms"`
	}
	if err := json.Unmarshal(body, &t); err != nil {
		return ticket{}, fmt.Errorf("cannot read ticket: %w", err)
	}
	return ticket{
		buyer: buyer, name: t.Ticket, status: t.Status,
		pollAfter: time.Duration(t.PollAfterMS) * time.Millisecond, readAt: time.Now(),
	}, nil
}

// whenTold is how long from now the ticket is to be polled.
func (t ticket) whenTold() time.Duration { return max(0, time.Until(t.readAt.Add(t.pollAfter))) }

// atRandom is a moment within poll_after: polls that were made all at once, or not at
// all, for a while are to be spread again.
func (t ticket) atRandom() time.Duration { return rand.N(max(t.pollAfter, time.Millisecond)) }

// read appends the request that reads a ticket for its buyer; query is "" or begins with ?.
func (b *bench) read(into []byte, t ticket, query string) []byte {
	into = append(into, "GET /v1/tickets/"...)
	into = append(into, t.name...)
	into = append(into, query...)
	into = append(into, " HTTP/1.1\r\nHost: sluice\r\nAuthorization: Bearer "...)
	into = append(into, b.buyers[t.buyer]...)
	return append(into, "\r\n\r\n"...)
}
