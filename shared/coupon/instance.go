package coupon

import "time"

// State is the state of an instance.
type State string

// States of an instance. A return is no state: it is an event that leads back to
// StateIssued, or StateExpired, in the next cycle.
const (
	StateIssued   State = "issued"
	StateLocked   State = "locked"
	StateRedeemed State = "redeemed"
	StateExpired  State = "expired"
	StateVoid     State = "void"
)

// Event is what happened to an instance.
type Event string

// Events of an instance. Its claim is none: that is its own row.
const (
	EventLock       Event = "lock"
	EventRelease    Event = "release" // its order lets go of it
	EventLapse      Event = "lapse"   // its lock's deadline has passed
	EventRedeem     Event = "redeem"
	EventLateRedeem Event = "late_redeem" // redeemed after its lock was gone
	EventExpire     Event = "expire"
	EventVoid       Event = "void"
	EventReturn     Event = "return"
)

// Instance is one coupon in somebody's hands.
type Instance struct {
	ID         string // of its claim's reservation: the order's id
	TemplateID string
	UserID     string // who owns it
	Slot       int
	Snapshot
	State       State
	Cycle       int64     // 1, and one more with each return
	OrderID     string    // that has locked or redeemed it; else ""
	LockedUntil time.Time // of a locked one; else zero
	IssuedAt    time.Time
	ChangedAt   time.Time
}
