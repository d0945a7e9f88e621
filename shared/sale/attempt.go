package sale

import "time"

// Attempt is one buyer's request for one unit of a sale, as reserve sees it.
type Attempt struct {
	RID    string // the identity that the reservation will have
	UserID string
	Key    string // idempotency key, "" when the buyer sent none
}

// DecisionCode is what reserve decided about an attempt. The numbers are the script's.
type DecisionCode int64

// Decisions of reserve.
const (
	DecidedAccepted   DecisionCode = iota // one unit taken, or this rid took it before
	DecidedReplay                         // another reservation answers this attempt
	DecidedSoldOut                        // no unit left
	DecidedLimit                          // unknown key while all slots are taken
	DecidedNotOpen                        // before the window
	DecidedClosed                         // after the window
	DecidedPaused                         // the operator paused the sale
	DecidedNotAllowed                     // not on the allow list

	DecidedLost DecisionCode = -1 // the reservation that answers it has no ticket that can be read
)

// HasTicket reports whether the decision carries a ticket.
func (c DecisionCode) HasTicket() bool { return c == DecidedAccepted || c == DecidedReplay }

// Refuses reports whether no reservation answers the attempt, for a reason that is known.
func (c DecisionCode) Refuses() bool { return c > DecidedReplay && c <= DecidedNotAllowed }

// Decision is reserve's answer to one attempt.
type Decision struct {
	Code      DecisionCode
	Ticket    Ticket // with DecidedAccepted and DecidedReplay only
	InHandOff bool   // JetStream has not acknowledged the reservation yet
}

// Settlement shows an order's confirmed or paid state on its ticket.
type Settlement struct {
	RID    string
	Status Status    // StatusConfirmed or StatusPaid
	PayBy  time.Time // zero when nothing is to be paid
}

// Settled is the result of a settlement. The numbers are the script's.
type Settled int64

// Results of settle.
const (
	SettleDone    Settled = iota
	SettleAlready         // the ticket was as far or further
	SettleUnknown         // no such ticket at this epoch
)

// Released is the result of a release. The numbers are the script's.
type Released int64

// Results of release.
const (
	ReleaseDone    Released = iota
	ReleaseAlready          // the ticket was closed before
	ReleaseUnknown          // no such ticket at this epoch; never to be marked applied
)
