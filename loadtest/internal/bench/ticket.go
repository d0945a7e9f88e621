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
