package client

import (
	"time"

	"sluice/shared/sale"
)

// Ticket is what a buyer holds and polls, as the gateway last told it.
type Ticket struct {
	Ticket      string      `json:"ticket"` // its name; only its owner may use it
	Sale        string      `json:"sale"`   // id
	Status      sale.Status `json:"status"`
	Reason      sale.Reason `json:"reason"` // of rejected
	Ahead       *int64      `json:"ahead"`  // buyers before this one; nil when unknown, or no longer queued
	ETA         *ETA        `json:"eta"`    // nil when unknown
	PollAfterMS int64       `json:"poll_after_ms"`
	OrderID     string      `json:"order_id"`  // once there is an order
	CouponID    string      `json:"coupon_id"` // of a claim, with its order; "" of goods
	Amount      *int64      `json:"amount"`    // minor units of Currency
	Currency    string      `json:"currency"`
	PayBy       time.Time   `json:"pay_by"` // zero when nothing is to be paid
	CreatedAt   time.Time   `json:"created_at"`
	UpdatedAt   time.Time   `json:"updated_at"`
	SaleState   sale.State  `json:"sale_state"`
	ServerTime  time.Time   `json:"server_time"`
	Replay      bool        `json:"replay"` // an earlier attempt got it

	etag string // "" when the ticket came without
}

// ETA is when the outcome is expected, in seconds from now.
type ETA struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// pollAfter is how long the gateway asks to wait before the next read.
func (t Ticket) pollAfter() time.Duration { return time.Duration(t.PollAfterMS) * time.Millisecond }

// age is how long ago the reservation was made, by the gateway's clock alone.
func (t Ticket) age() time.Duration { return t.ServerTime.Sub(t.CreatedAt) }

// Sale is what anybody may know of a sale.
type Sale struct {
	ID           string            `json:"id"`
	Kind         sale.Kind         `json:"kind"`
	Title        string            `json:"title"`
	SKU          string            `json:"sku"`
	Price        int64             `json:"price"` // minor units of Currency
	Currency     string            `json:"currency"`
	PerUserLimit int               `json:"per_user_limit"`
	Mode         sale.Mode         `json:"mode"`
	State        sale.State        `json:"state"`
	OpensAt      time.Time         `json:"opens_at"`
	ClosesAt     time.Time         `json:"closes_at"`
	Availability sale.Availability `json:"availability"`
	Progress     Progress          `json:"progress"`
	ServerTime   time.Time         `json:"server_time"` // compare with OpensAt; a buyer's own clock may be wrong
}

// Progress is how fast a sale's queue moves.
type Progress struct {
	Served int64   `json:"served"` // reservations with an outcome
	Rate   float64 `json:"rate"`   // a second
}
