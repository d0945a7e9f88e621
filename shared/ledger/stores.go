package ledger

import "sluice/shared/sale"

// FastState is a sale's state in Redis. Every call is one script; ok is false when it
// answers STALE, or refuses a load that is not the fence's.
type FastState interface {
	Reserve(epoch int64, attempts []sale.Attempt) (decisions []sale.Decision, ok bool)
	ReserveLate(epoch int64, attempt sale.Attempt) (decision sale.Decision, ok bool)
	HandedOver(epoch int64, rids []string) (ok bool)
	Overdue(epoch int64) (overdue []sale.Reservation, ok bool) // all that are listed
	Settle(epoch int64, settlements []sale.Settlement) (settled []sale.Settled, ok bool)
	Release(epoch int64, releases []sale.Release) (released []sale.Released, ok bool)
	Adjust(epoch int64, adjustment sale.Adjustment) (result sale.AdjustResult, ok bool)
	Epoch(ask int64) (found int64, live bool) // the epoch there is, and whether ask is live

	Fence(epoch int64, token string) (ok bool)
	LoadTickets(epoch int64, token string, tickets []sale.LoadTicket) (ok bool)
	LoadAdjusted(epoch int64, token string, adjusted []sale.Adjustment) (ok bool)
	Flip(token string, live sale.Live) (ok bool)
	OlderQueued(epoch int64) []Queued
	DropOlderEpochs(epoch int64)

	Lose() // everything, at once
}

// Queued are the queued tickets of an epoch that is over.
type Queued struct {
	Epoch        int64
	Reservations []sale.Reservation
}

// Batch is what one order transaction decides.
type Batch struct {
	Epoch        int64
	Reservations []sale.Reservation
	Sequences    []uint64 // of the hand-over of each; nil when it came by none
}

// Verdict is what Postgres says about a reservation.
type Verdict struct {
	RID    string
	State  sale.OrderState
	Reason sale.Reason
}

// Refusal is why a batch is not decided.
type Refusal string

// Refusals of a batch, "" for none.
const (
	Stale  Refusal = "stale"  // its epoch is not the current one
	Beyond Refusal = "beyond" // a load orders what came before it first
)

// PendingRelease is a release that Redis is not known to have applied.
type PendingRelease struct {
	sale.Release
	Epoch int64 // the sale's current one
}

// Unshown is an open order whose ticket is to be settled.
type Unshown struct {
	RID   string
	Epoch int64 // the sale's current one
	State sale.OrderState
}

// LateUnit is what Redis said to the attempt of a late payment.
type LateUnit struct {
	Of          string // the expired order
	Epoch       int64
	Reservation sale.Reservation
	Refused     sale.OwedReason
}

// Applied is what one try to apply a payment event did, or what is to be done first.
type Applied struct {
	sale.PaymentDecision
	OrderID, UserID string // that the event acts on
	Epoch           int64  // of the sale
	Passed          bool   // it was applied before
	Stale           bool   // the late unit is of an epoch that is over
}

// Entry is what the catalogue says of the sale.
type Entry struct {
	Epoch, Rev int64
	Rebuilding bool
}

func (e Entry) newerThan(o Entry) bool {
	return e.Epoch > o.Epoch || e.Epoch == o.Epoch && e.Rev > o.Rev
}

// Count is what a load takes from Postgres, as of one moment.
type Count struct {
	Live     sale.Live
	Tickets  []sale.LoadTicket
	Adjusted []sale.Adjustment
}

// Truth is the sale in Postgres. Every call is one transaction.
type Truth interface {
	Entry() Entry
	Order(b Batch) (verdicts []Verdict, refusal Refusal, last uint64) // last with Beyond
	Undecided(rids []string) []string
	Expire(rid string) bool
	Cancel(rid string) bool

	UnappliedReleases() []PendingRelease
	MarkApplied(rids []string)
	Unshow(rids []string)
	Unshown() []Unshown
	MarkShown(rids []string, state sale.OrderState)

	StorePayment(event sale.PaymentEvent)
	KnownPayments() []string // that wait, and of whose order something is known
	ApplyPayment(eventID string, late *LateUnit) Applied

	BeginAdjustment(a sale.Adjustment) (row sale.AdjustmentRow, epoch int64, ok bool)
	UnfinishedAdjustments() (rows []sale.AdjustmentRow, epoch int64)
	FinishAdjustment(a sale.Adjustment, epoch int64, result sale.AdjustResult) (ok bool)

	RequestRebuild()
	BeginLoad(above int64) Entry
	SetLastSequence(epoch int64, last uint64) (ok bool)
	Count(epoch int64) (count Count, ok bool)
	FinishLoad(epoch int64) (entry Entry, ok bool)
}
