package sale

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// PaymentType is what a payment event reports.
type PaymentType string

// Types of payment events.
const (
	PaymentSucceeded PaymentType = "payment.succeeded"
	PaymentFailed    PaymentType = "payment.failed"
	RefundSucceeded  PaymentType = "refund.succeeded"
)

// PaymentEvent is what the payment provider reports about an order. Its identity is
// EventID alone: the same id again is the same event, whatever else it says. Its JSON
// is the webhook's, and the stream's.
type PaymentEvent struct {
	EventID     string      `json:"event_id"` // 1..128 printable ASCII characters without spaces
	Type        PaymentType `json:"type"`
	OrderID     string      `json:"order_id"` // the rid
	AmountMinor int64       `json:"amount"`   // minor units of Currency
	Currency    string      `json:"currency"`
	OccurredAt  time.Time   `json:"occurred_at"` // the provider's clock; for people to read
	Restock     bool        `json:"restock"`     // of a refund: the unit is sold again
}

// maxAmount keeps amounts exact in every language's JSON.
const maxAmount = 1 << 53

// Validate refuses an event that no provider can mean. It names the field at fault,
// as the webhook spells it.
func (e PaymentEvent) Validate() (field string, err error) {
	switch e.Type {
	case PaymentSucceeded, PaymentFailed, RefundSucceeded:
	default:
		return "type", fmt.Errorf("the field type must be %s, %s or %s", PaymentSucceeded, PaymentFailed, RefundSucceeded)
	}
	switch year := e.OccurredAt.UTC().Year(); {
	case !validEventID(e.EventID):
		return "event_id", errors.New("the field event_id must have 1 to 128 printable ASCII characters, and no spaces")
	case ValidateRID(e.OrderID) != nil:
		return "order_id", errors.New("the field order_id must be an order's id, in the spelling that it was given in")
	case e.AmountMinor < 0 || e.AmountMinor > maxAmount:
		return "amount", fmt.Errorf("the field amount must be from 0 to %d", int64(maxAmount))
	case !validCurrency(e.Currency):
		return "currency", errors.New("the field currency must be three capital letters")
	case year < 2000 || year > 9999:
		return "occurred_at", errors.New("the field occurred_at is not a time of this era")
	}
	return "", nil
}

func validEventID(id string) bool {
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return false
		}
	}
	return len(id) >= 1 && len(id) <= 128
}

func validCurrency(c string) bool {
	for i := range len(c) {
		if c[i] < 'A' || c[i] > 'Z' {
			return false
		}
	}
	return len(c) == 3
}

// PaymentResult is what became of a payment event.
type PaymentResult string

// Results of payment events.
const (
	PaymentWaits       PaymentResult = ""             // for its order, a unit's way back, Redis: it is tried again
	PaymentPaid        PaymentResult = "paid"         // its order was pending and is paid
	PaymentReplaced    PaymentResult = "replaced"     // its order had expired; another one is paid in its place
	PaymentOwed        PaymentResult = "owed"         // nothing to pay for any more: a refund is owed
	PaymentNoted       PaymentResult = "noted"        // a failed payment
	PaymentRefunded    PaymentResult = "refunded"     // its order was paid and is refunded
	PaymentSettled     PaymentResult = "settled"      // a refund that was owed
	PaymentWrongAmount PaymentResult = "wrong_amount" // not the order's amount or currency: nothing was done
	PaymentNotPaid     PaymentResult = "not_paid"     // a refund of what is not paid: nothing was done
)

// OwedReason says why a payment is to be refunded.
type OwedReason string

// Reasons for refunds that are owed.
const (
	OwedSecond    OwedReason = "second_payment" // the order was paid before, or was a coupon's and free
	OwedCancelled OwedReason = "cancelled"
	OwedRejected  OwedReason = "rejected"
	OwedRefunded  OwedReason = "refunded"
	OwedRetired   OwedReason = "retired" // the sale is over and gone
	OwedNoUnit    OwedReason = "no_unit" // paid after expiry, and sold out
	OwedNoSlot    OwedReason = "no_slot" // paid after expiry, and the buyer may not buy again
)

// Payment is a payment event as Postgres keeps it.
type Payment struct {
	PaymentEvent
	Result     PaymentResult
	ReceivedAt time.Time // Postgres time
}

// OpenPayments counts what somebody, or something, has yet to do about payments.
type OpenPayments struct {
	RefundsOwed  int64
	WrongAmounts int64 // payments and refunds that are not of their order's amount, of the last day
	Waiting      int64 // events, to be applied
}

// RefundOwed is a payment that is to be refunded, by people or by the shop's system:
// Sluice moves no money. A refund.succeeded of its order settles it.
type RefundOwed struct {
	EventID     string // of the payment
	OrderID     string // as the payment names it
	AmountMinor int64  // minor units of Currency
	Currency    string
	Reason      OwedReason
	CreatedAt   time.Time // Postgres time
	SettledAt   time.Time // Postgres time; zero while it is open
}

// LateRID is the rid of the reservation that takes the place of an order which was
// paid after it had expired. It is a function of the order's id alone, so that
// whoever tries, however often, takes one unit. It has the form of a UUIDv7 that is
// a millisecond younger than a UUIDv7 order.
//
// id must be a canonical UUID.
func LateRID(id string) string {
	digest := sha256.Sum256([]byte("sluice/late/" + id))
	rid := digest[:16]
	var milliseconds uint64
	for _, c := range []byte(id[:min(len(id), len("01935fd2-d6eb"))]) {
		if c != '-' {
			milliseconds = milliseconds<<4 | uint64(hexDigit(c))
		}
	}
	milliseconds++
	for i := range 6 {
		rid[i] = byte(milliseconds >> (40 - 8*i))
	}
	rid[6] = rid[6]&0x0f | 0x70
	rid[8] = rid[8]&0x3f | 0x80
	text := hex.EncodeToString(rid)
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}

func hexDigit(c byte) byte {
	if c >= 'a' {
		return c - 'a' + 10
	}
	return c - '0'
}

// LateAttempt is the attempt that a late payment makes for the buyer of an order.
func LateAttempt(o Order) Attempt {
	rid := LateRID(o.RID)
	return Attempt{RID: rid, UserID: o.UserID, Key: "late-" + rid}
}
