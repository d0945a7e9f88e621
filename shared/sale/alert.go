package sale

import (
	"fmt"
	"hash/fnv"
	"time"
)

// AlertName names something that a person has to look at. The runbook has an entry for
// each.
type AlertName string

// All alerts.
const (
	AlertBacklogAgeHigh   AlertName = "BacklogAgeHigh"   // of a sale: reservations wait for longer than is promised
	AlertBacklogStalled   AlertName = "BacklogStalled"   // of a sale: some wait and none is served
	AlertBacklogWontDrain AlertName = "BacklogWontDrain" // of a sale: they are served too slowly ever to be in time again
	AlertDatabaseSlow     AlertName = "DatabaseSlow"     // the pace is held by a Postgres that is slow when nothing is asked of it
	AlertDeadLetters      AlertName = "DeadLetters"      // open ones
	AlertSurplusRejected  AlertName = "SurplusRejected"  // Redis sold what Postgres does not have
	AlertSoldOutWithStock AlertName = "SoldOutWithStock" // of a sale: Redis refuses buyers and has units
	AlertAuditDeviation   AlertName = "AuditDeviation"   // the stores disagree
	AlertRefundOwed       AlertName = "RefundOwed"       // payments that somebody has to give back
	AlertWrongAmount      AlertName = "WrongAmount"      // payments or refunds that are not of their order's amount, of the last day
	AlertStreamNearlyFull AlertName = "StreamNearlyFull" // hand-overs or payment events will soon be refused
	AlertDependencyDown   AlertName = "DependencyDown"   // of a store: it does not answer
	AlertSaleNotLive      AlertName = "SaleNotLive"      // of a sale: its window is open and Redis does not have it
)

// AlertNames are all of them, in the order of the runbook.
func AlertNames() []AlertName {
	return []AlertName{AlertBacklogAgeHigh, AlertBacklogStalled, AlertBacklogWontDrain, AlertDatabaseSlow, AlertDeadLetters, AlertSurplusRejected, AlertSoldOutWithStock,
		AlertAuditDeviation, AlertRefundOwed, AlertWrongAmount, AlertStreamNearlyFull, AlertDependencyDown, AlertSaleNotLive}
}

// Severities: page means now, ticket means today.
const (
	SeverityPage   = "page"
	SeverityTicket = "ticket"
)

// Severity is how soon somebody has to look.
func (n AlertName) Severity() string {
	switch n {
	case AlertDatabaseSlow, AlertDeadLetters, AlertSoldOutWithStock, AlertRefundOwed, AlertWrongAmount:
		return SeverityTicket
	default:
		return SeverityPage
	}
}

// AlertState is what an alert is in.
type AlertState string

// States of an alert. One that is in none has no row.
const (
	AlertPending  AlertState = "pending"  // its condition holds, and not for long enough
	AlertFiring   AlertState = "firing"   // somebody has to look
	AlertResolved AlertState = "resolved" // it is over
)

// AlertKey tells an alert from every other: its labels.
type AlertKey struct {
	Name       AlertName
	SaleID     string // "" for one that is of no sale
	Dependency string // "" for one that is of no store
}

// Fingerprint is the same for the same labels, everywhere and always.
func (k AlertKey) Fingerprint() string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\xff%s\xff%s", k.Name, k.SaleID, k.Dependency)
	return fmt.Sprintf("%016x", h.Sum64())
}

// Alert is one alert as of now. Times that have not come are zero.
type Alert struct {
	AlertKey
	State      AlertState
	Value      float64 // what the condition looks at, in the unit that the runbook names
	Summary    string  // a sentence
	Since      time.Time
	FiredAt    time.Time  // while pending, of the time before
	ResolvedAt time.Time  // while pending or firing, of the time before
	ClearSince time.Time  // while firing: since when it could be over
	Told       AlertState // what the receiver of notifications has acknowledged: "", firing or resolved
}
