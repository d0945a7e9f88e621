package httpapi

import (
	"fmt"
	"hash/fnv"
	"math/bits"
	"time"

	"sluice/gateway/internal/catalog"
	"sluice/shared/sale"
)

// ticketBody is what a buyer's app gets and polls.
type ticketBody struct {
	Ticket      string      `json:"ticket"`
	Sale        string      `json:"sale"`
	Status      sale.Status `json:"status"`
	Reason      sale.Reason `json:"reason,omitempty"`
	Ahead       *int64      `json:"ahead,omitempty"` // buyers before this one, while queued
	ETA         *eta        `json:"eta"`             // seconds; null when unknown
	PollAfterMS int64       `json:"poll_after_ms"`
	OrderID     string      `json:"order_id,omitempty"`
	Amount      *int64      `json:"amount,omitempty"` // minor units of currency
	Currency    string      `json:"currency,omitempty"`
	PayBy       time.Time   `json:"pay_by,omitzero"`
	CreatedAt   time.Time   `json:"created_at"`
	UpdatedAt   time.Time   `json:"updated_at"`
	SaleState   sale.State  `json:"sale_state"`
	ServerTime  time.Time   `json:"server_time"`
	Replay      bool        `json:"replay,omitempty"`

	tag string // ETag
}

type eta struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

func (a *API) body(s *catalog.Sale, userID string, t sale.Ticket, now time.Time) ticketBody {
	b := ticketBody{
		Ticket: a.Signer.Sign(s.ID(), userID, t.Slot, t.RID), Sale: s.ID(), Status: t.Status, Reason: t.Reason,
		PayBy: t.PayBy, CreatedAt: t.AcceptedAt, UpdatedAt: t.UpdatedAt, SaleState: s.State(now), ServerTime: serverTime(s, now),
	}
	if t.Status == sale.StatusQueued {
		b.Ahead = ahead(s, t)
	} else if t.Status != sale.StatusRejected {
		price := s.Entry().PriceMinor
		b.OrderID, b.Amount, b.Currency = t.RID, &price, s.Entry().Currency
	}
	b.PollAfterMS = pollAfter(t, b.Ahead, s)
	b.tag = ticketTag(t, b.Ahead)
	return b
}

// serverTime is Redis time, to the millisecond that Redis time is kept in.
func serverTime(s *catalog.Sale, now time.Time) time.Time {
	return s.Now(now).UTC().Truncate(time.Millisecond)
}

// ahead is how many buyers are served before t; nil when no worker said how far
// they are.
func ahead(s *catalog.Sale, t sale.Ticket) *int64 {
	p, ok := s.Progress()
	if !ok {
		return nil
	}
	n := max(0, t.Rank-1-p.Served)
	return &n
}

const (
	pollSoon   = 500 * time.Millisecond
	pollUntold = 2 * time.Second // no worker said yet how far they are
	pollLate   = 10 * time.Second
	pollFinal  = 30 * time.Second // nothing more is expected to change soon
)

// pollAfter tells a client when to ask again, in milliseconds: the further back,
// the later, spread by up to a quarter so that those of one batch do not come
// back together.
func pollAfter(t sale.Ticket, ahead *int64, s *catalog.Sale) int64 {
	wait := pollFinal
	if t.Status == sale.StatusQueued {
		wait = pollQueued(ahead, s)
	}
	return (wait + time.Duration(float64(wait)*spread(t.RID)/4)).Milliseconds()
}

// pollQueued is half the time until the ticket's turn. Nobody who is told nothing
// by workers, or of workers that do not move, is asked to come back soon.
func pollQueued(ahead *int64, s *catalog.Sale) time.Duration {
	p, told := s.Progress()
	switch {
	case ahead == nil || !told:
		return pollUntold
	case *ahead == 0:
		return pollSoon
	case p.RatePerSecond <= 0:
		return pollLate
	}
	wait := time.Duration(min(float64(*ahead)/p.RatePerSecond/2, pollLate.Seconds()) * float64(time.Second))
	return max(wait, pollSoon)
}

// spread maps a ticket to [0, 1), the same at every gateway.
func spread(rid string) float64 {
	h := fnv.New32a()
	h.Write([]byte(rid))
	return float64(h.Sum32()) / (1 << 32)
}

// ticketTag is over the status, when it changed, and about how many are ahead: a
// buyer far back is not told of every step.
func ticketTag(t sale.Ticket, ahead *int64) string {
	bucket := -1
	if ahead != nil {
		bucket = bits.Len64(uint64(*ahead))
	}
	return fmt.Sprintf(`"%s-%x-%d"`, t.Status, t.UpdatedAt.UnixMilli(), bucket)
}
