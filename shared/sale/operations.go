package sale

import (
	"cmp"
	"encoding/json"
	"time"
)

// Actor is who changes something by hand.
type Actor struct {
	Who      string // the credential that was shown
	Operator string // the name that its bearer gave, unchecked; "" for none
	Address  string // where the request came from
}

// Action names a change by hand.
type Action string

// Actions of operators.
const (
	ActionPause         Action = "pause"
	ActionResume        Action = "resume"
	ActionClose         Action = "close"
	ActionRebuild       Action = "rebuild"
	ActionApply         Action = "apply" // of a sales file that changes the sale
	ActionStock         Action = "stock"
	ActionStockRefused  Action = "stock-refused"
	ActionLetterRetried Action = "dead-letter-retry"
	ActionLetterDropped Action = "dead-letter-drop"
	ActionPacePause     Action = "pace-pause" // of all sales
	ActionPaceResume    Action = "pace-resume"

	ActionTemplateApply    Action = "template-apply" // of a sales file that changes the template
	ActionTemplateCreate   Action = "template-create"
	ActionTemplateCopy     Action = "template-copy"
	ActionTemplateOffShelf Action = "template-off-shelf"
	ActionCouponVoid       Action = "coupon-void" // of one that is issued

	ActionMerchantKeyCreate Action = "merchant-key-create" // of a merchant
	ActionMerchantKeyRevoke Action = "merchant-key-revoke"
)

// Change is a record of the audit log.
type Change struct {
	ID            int64
	At            time.Time // Postgres time
	By            Actor
	Action        Action
	SaleID        string
	Subject       string // id of an adjustment, a dead letter, a template or a coupon; "" for the sale
	Before, After json.RawMessage
}

// PacePause is who has stopped the writing of orders, of all workers and sales, and when.
type PacePause struct {
	Paused bool
	By     Actor     // zero when the audit log does not say
	At     time.Time // likewise; Postgres time
}

// String says it in words, "" while it is not paused.
func (p PacePause) String() string {
	if !p.Paused {
		return ""
	}
	words := "the pace is paused"
	if !p.At.IsZero() {
		words += " since " + p.At.UTC().Format(time.RFC3339) + " by " + cmp.Or(p.By.Operator, p.By.Who)
	}
	return words
}

// Page asks for a part of a list, newest first.
type Page struct {
	Limit  int
	Before int64 // id; only older ones. 0 for the newest
}

// Standing is how a sale stands in Postgres.
type Standing struct {
	Entry
	Total     int64 // units that count now
	Held      int64 // units that orders hold
	Unapplied int64 // releases that Redis is not known to have applied
	Adjusting int64 // adjustments that are not finished
}

// Describe is the sale in one word: what keeps it from being served at all (retired,
// not_loaded, rebuilding), else what its buyers are told. A zero snapshot is one that
// could not be read; now counts only then, else the clock that decides the window.
func (st Standing) Describe(s Snapshot, now time.Time) string {
	switch {
	case st.Retired:
		return "retired"
	case st.Epoch == 0:
		return "not_loaded"
	case st.Rebuilding:
		return "rebuilding"
	}
	if !s.Now.IsZero() {
		now = s.Now
	}
	return string(DescribeState(PhaseAt(st.OpensAt, st.ClosesAt, now), st.Paused, s.SoldOut))
}

// LetterState is what became of a dead letter.
type LetterState string

// States of a dead letter.
const (
	LetterOpen    LetterState = "open"
	LetterRetried LetterState = "retried"
	LetterDropped LetterState = "dropped"
)

// DeadLetter is what could not become an order: a reservation that the database refused
// for what it is, or a hand-over that could not be read.
type DeadLetter struct {
	ID       int64
	SaleID   string
	Epoch    int64  // of the hand-over; 0 when its header named none
	Sequence uint64 // of the hand-over in the stream
	RID      string // "" for a hand-over
	Header   []byte // of a hand-over, as NATS writes it
	Payload  []byte // the reservation as JSON, or the hand-over's body as it came; in a list its beginning
	Size     int64  // of the whole payload, in bytes
	Reason   string
	At       time.Time // Postgres time
	State    LetterState
}
