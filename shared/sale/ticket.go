package sale

import "time"

// Status of a ticket, as buyers see it.
type Status string

// Statuses of a ticket.
const (
	StatusQueued    Status = "queued"
	StatusConfirmed Status = "confirmed" // an order awaits payment
	StatusPaid      Status = "paid"
	StatusExpired   Status = "expired"
	StatusCancelled Status = "cancelled"
	StatusRejected  Status = "rejected"
	StatusRefunded  Status = "refunded"
)

// Closed reports whether the ticket was released: nothing changes it any more.
func (s Status) Closed() bool {
	switch s {
	case StatusExpired, StatusCancelled, StatusRejected, StatusRefunded:
		return true
	case StatusQueued, StatusConfirmed, StatusPaid:
	}
	return false
}

// order of statuses: a ticket only moves to a higher one.
func (s Status) order() int {
	switch s {
	case StatusQueued:
		return 0
	case StatusConfirmed:
		return 1
	case StatusPaid:
		return 2
	case StatusExpired, StatusCancelled, StatusRejected, StatusRefunded:
	}
	return 3
}

// CanBecome reports whether a ticket in s may move to next. Equal is no move.
func (s Status) CanBecome(next Status) bool { return next.order() > s.order() }

// Reason of a rejected ticket.
type Reason string

// Reasons of a rejection.
const (
	ReasonNone        Reason = ""
	ReasonDuplicate   Reason = "duplicate"    // another reservation holds the slot
	ReasonSurplus     Reason = "surplus"      // Redis believed in a unit that Postgres does not have
	ReasonInvalid     Reason = "invalid"      // the database refuses the row
	ReasonSuperseded  Reason = "superseded"   // of an epoch that a rebuild replaced
	ReasonNotAccepted Reason = "not_accepted" // never answered 202
)

// Reservation is one unit taken out of the Redis stock for one buyer.
type Reservation struct {
	RID        string    `json:"rid"` // UUIDv7 in canonical form
	UserID     string    `json:"user"`
	Slot       int       `json:"slot"` // 1..per_user_limit
	Key        string    `json:"key"`  // idempotency key, "" when the buyer sent none
	Rank       int64     `json:"rank"` // place in the sale's order of acceptance, from 1
	AcceptedAt time.Time `json:"at"`   // Redis time, milliseconds
}

// Ticket is the record of a reservation that Redis keeps and buyers poll.
type Ticket struct {
	Reservation
	Status    Status
	Reason    Reason
	UpdatedAt time.Time // Redis time, milliseconds
	PayBy     time.Time // zero until an order awaits payment
}

// HandOver is one JetStream message: 1..MaxHandOver reservations of one sale
// that one reserve call accepted. The price travels with it.
type HandOver struct {
	SaleID       string
	Epoch        int64
	PriceMinor   int64
	Currency     string
	Reservations []Reservation
}

// Nobody is answered 202 later than MaxPublishTimeout after the start of the reserve
// call that took the unit, and AnswersOver says from when on others may rely on it:
// the sweeper hands over what is listed for longer, a load waits that long behind
// its fence.
const (
	MaxPublishTimeout = 4 * time.Second
	AnswersOver       = MaxPublishTimeout + time.Second
)

// MaxHandOver is the most reservations one hand-over carries, and the most
// attempts one reserve call decides.
const MaxHandOver = 256
