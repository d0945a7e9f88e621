package sale

import (
	"encoding/json"
	"time"
)

// Kind says what a unit of the sale is.
type Kind string

// Kinds of sale.
const (
	KindGoods  Kind = "goods"
	KindCoupon Kind = "coupon"
)

// Mode says what the gateway answers once an attempt is handed over.
type Mode string

// Modes of a sale: queued answers 202 at once; instant waits for the outcome.
const (
	ModeQueued  Mode = "queued"
	ModeInstant Mode = "instant"
)

// Limits of a sale's configuration.
const (
	MaxPerUserLimit = 20
	MaxWeight       = 1000
	MaxTotal        = 100_000_000
)

// Sale is one limited release as configured: a SKU at a price, or coupons of a template,
// in a window.
type Sale struct {
	ID                string            `json:"id"`
	Kind              Kind              `json:"kind"`
	Title             string            `json:"title"`
	Titles            map[string]string `json:"titles,omitempty"` // by language beside that of Title; see TitleIn
	SKU               string            `json:"sku"`
	Template          string            `json:"template,omitempty"` // of coupons: the template that is given out; "" of goods
	Total             int64             `json:"total"`              // units configured at first load
	PriceMinor        int64             `json:"price_minor"`        // minor units of Currency
	Currency          string            `json:"currency"`           // ISO 4217 letters
	PerUserLimit      int               `json:"per_user_limit"`
	OpensAt           time.Time         `json:"opens_at"`
	ClosesAt          time.Time         `json:"closes_at"`
	Hold              time.Duration     `json:"hold_ns"` // time to pay
	Mode              Mode              `json:"mode"`
	RebuyAfterRelease bool              `json:"rebuy_after_release"`
	Weight            int               `json:"weight"`
	Eligibility       Eligibility       `json:"eligibility"`
}

// Entry is a sale as the catalogue announces it. Entries of one sale are
// ordered by (Epoch, Rev); a lower one never replaces a higher one.
type Entry struct {
	Sale
	Epoch      int64 `json:"epoch"` // generation of the Redis state, 0 until first loaded
	Rev        int64 `json:"rev"`   // rises with every change of configuration, pause or retirement
	Paused     bool  `json:"paused"`
	Rebuilding bool  `json:"rebuilding"`
	Retired    bool  `json:"retired"`

	// ClosedAt is when an operator ended the window early, zero when nobody did. It is in ClosesAt.
	ClosedAt time.Time `json:"closed_at,omitzero"`
	// AllowRev tells one allow list of the sale from another: a later one has a higher number.
	AllowRev int64 `json:"allow_rev,omitempty"`
	// Rule is what the template of a sale of coupons says, and since when it is off the
	// shelf, as JSON for a Postgres that comes back without it, or with an older one; nil
	// of goods. A change of it is a new Rev.
	Rule json.RawMessage `json:"rule,omitempty"`
}

// Configured is what Redis made of an entry that it was brought.
type Configured struct {
	Changed bool // it was news
	// Unlisted: the entry's allow list is not there yet. The one before it rules on.
	Unlisted bool
}

// NewerThan reports whether e may replace o in the catalogue.
func (e Entry) NewerThan(o Entry) bool {
	if e.Epoch != o.Epoch {
		return e.Epoch > o.Epoch
	}
	return e.Rev > o.Rev
}

// Phase is where a moment lies in a sale's window.
type Phase int

// Phases of a sale's window.
const (
	Scheduled Phase = iota
	Open
	Closed
)

// PhaseAt says where now lies: opens_at is inside the window, closes_at is not.
func PhaseAt(opensAt, closesAt, now time.Time) Phase {
	switch {
	case !now.Before(closesAt):
		return Closed
	case now.Before(opensAt):
		return Scheduled
	default:
		return Open
	}
}

// State is the one word a sale is described by; the first that holds counts.
type State string

// States of a sale, in the order they are looked for.
const (
	StateClosed    State = "closed"
	StatePaused    State = "paused"
	StateSoldOut   State = "sold_out"
	StateOpen      State = "open"
	StateScheduled State = "scheduled"
)

// DescribeState picks the sale's state for buyers.
func DescribeState(phase Phase, paused, soldOut bool) State {
	switch {
	case phase == Closed:
		return StateClosed
	case paused:
		return StatePaused
	case soldOut:
		return StateSoldOut
	case phase == Open:
		return StateOpen
	default:
		return StateScheduled
	}
}

// Availability is how much is left, coarse enough to be cached.
type Availability string

// Availabilities of a sale.
const (
	Plenty Availability = "plenty"
	Few    Availability = "few"
	None   Availability = "none"
)

// AvailabilityOf says how much of total is left: few is under a tenth.
func AvailabilityOf(stock, total int64) Availability {
	switch {
	case stock <= 0:
		return None
	case stock*10 < total:
		return Few
	default:
		return Plenty
	}
}
